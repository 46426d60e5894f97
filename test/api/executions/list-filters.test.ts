import { beforeAll, expect, test } from 'vitest';
import { basic, HttpClient } from '../../support/clients/http-client.ts';
import { addExecutions, type ExecutionRow } from '../../support/fixtures/execution-rows.ts';
import { addUser } from '../../support/fixtures/users.ts';
import { ADMIN_PASSWORD, bothGroups, onHosts, queuedIn } from '../../support/hosts/hosts.ts';

const ADMIN = 1;
const ANN = 2;
/** So recent that executions since then are kept (C243). */
const T = Math.floor(Date.now() / 1_000) * 1_000 - 10 * 86_400_000;

const row = (
  id: number,
  name: string,
  userId: number,
  status: ExecutionRow['status'],
  times: [submit: number, start?: number, end?: number],
): ExecutionRow => {
  const [submit, start, end] = times.map((time = 0) => T + time);
  return { id, name, userId, status, submitMs: submit ?? T, startMs: start ?? null, endMs: end ?? null };
};

/** Number 5 was submitted last: ids do not determine the order of submission. */
const rows = [
  row(1, 'first', ADMIN, 'terminated', [1, 101, 201]),
  row(2, 'twin', ANN, 'error', [2, 102, 202]),
  row(3, 'twin', ADMIN, 'running', [3, 103]),
  row(4, "o'hara; -- %_", ANN, 'queued', [4]),
  row(5, 'latest', ADMIN, 'queued', [7]),
  row(6, 'sixth', ANN, 'cleaning up', [6, 106]),
];
const seconds = (time: number) => (T + time) / 1_000;

onHosts(bothGroups, (host, { variant }) => {
  const clientOf = (...credentials: Parameters<typeof basic>) =>
    new HttpClient(() => host().url(), basic(...credentials));
  const admin = clientOf('admin', ADMIN_PASSWORD);
  const ann = clientOf('ann', 'secret words');
  const idOf =
    variant === 'A' ? { admin: 'admin', ann: 'ann', none: 'nobody' } : { admin: '1', ann: '2', none: '99' };
  const queued = queuedIn(variant);

  const list = async (query: string, client = admin): Promise<number[]> => {
    const reply = await client.get(`execution?${query}`);
    expect(reply.status, reply.text).toBe(200);
    return Object.keys(reply.json()).map(Number);
  };
  const refused = async (query: string, client = admin) => {
    const reply = await client.get(`execution?${query}`);
    return { status: reply.status, message: reply.json<{ message: string }>().message };
  };

  beforeAll(async () => {
    await addUser(host(), 'ann', 'secret words', 'user');
    const db = await host().openDb();
    await addExecutions(db, rows);
    await db.close();
  });

  test("H100: an execution must pass all given filters, which never show other users' executions to a user", async () => {
    expect(await list('')).toEqual([1, 2, 3, 4, 5, 6]);
    expect(await list(`name=twin&user_id=${idOf.ann}&status=error`)).toEqual([2]);
    expect(await list(`name=twin&status=${queued}`)).toEqual([]);
    expect(await list(`status=${queued}&later_than_submit=${seconds(4)}`)).toEqual([5]);
    expect(await list('', ann)).toEqual([2, 4, 6]);
    expect(await list('name=twin', ann)).toEqual([2]);
    expect(await list('limit=2', ann)).toEqual([4, 6]);
  });

  test.each([
    ['with an unknown name', 'color=red', 'color'],
    ["with the name of an object's own property", 'constructor=x', 'constructor'],
    ['that is given twice', 'name=a&name=b', 'name'],
    ['by an unknown status', 'status=sleeping', 'status'],
    ['by an empty status', 'status=', 'status'],
    ['by an empty name', 'name=', 'name'],
    ['by an empty user', 'user_id=', 'user_id'],
    ['with a negative limit', 'limit=-1', 'limit'],
    ['with a fractional limit', 'limit=1.5', 'limit'],
    ['with too long a limit', `limit=${'9'.repeat(16)}`, 'limit'],
    ['by a date', 'earlier_than_start=2026-01-01', 'earlier_than_start'],
    ['by an infinite time', 'later_than_end=Infinity', 'later_than_end'],
    ['by an empty time', 'later_than_submit=', 'later_than_submit'],
  ])('H101: a filter %s is 400, and the message names it', async (_, query, name) => {
    const { status, message } = await refused(query);
    expect(status).toBe(400);
    expect(message).toContain(`ilter ${name} `.replace(/ $/, ''));
  });

  test('H102: the filter status takes the words of the group, and not that of the other', async () => {
    expect(await list(`status=${queued}`)).toEqual([4, 5]);
    expect(await list('status=cleaning%20up')).toEqual([6]);
    expect(await list('status=cleaning+up')).toEqual([6]);
    expect(await list('status=submitted')).toEqual([]);
    expect((await refused(`status=${variant === 'A' ? 'queued' : 'scheduled'}`)).status).toBe(400);
  });

  test('H102: the filter name is exact, and is never read as SQL', async () => {
    expect(await list('name=twin')).toEqual([2, 3]);
    expect(await list('name=Twin')).toEqual([]);
    expect(await list('name=%25')).toEqual([]);
    expect(await list(`name=${encodeURIComponent("o'hara; -- %_")}`)).toEqual([4]);
  });

  test('H103: the filter user_id takes what executions show, for other users with can_operate_others', async () => {
    expect(await list(`user_id=${idOf.ann}`)).toEqual([2, 4, 6]);
    expect(await list(`user_id=${idOf.admin}`)).toEqual([1, 3, 5]);
    expect(await list(`user_id=${idOf.none}`)).toEqual([]);
    if (variant === 'B') expect((await refused('user_id=ann')).status).toBe(400);
  });

  test("H103: every user may filter by the user's own id, and any other is 403 without can_operate_others", async () => {
    expect(await list(`user_id=${idOf.ann}`, ann)).toEqual([2, 4, 6]);
    expect((await refused(`user_id=${idOf.admin}`, ann)).status).toBe(403);
    expect((await refused(`user_id=${idOf.none}`, ann)).status).toBe(403);
  });

  test('H104: limit selects the executions submitted last among those that pass, in the usual form of answer', async () => {
    expect(await list('limit=2')).toEqual([5, 6]);
    expect(await list(`limit=2&status=${queued}`)).toEqual([4, 5]);
    expect(await list('limit=1&name=twin')).toEqual([3]);
    expect(await list('limit=0')).toEqual([]);
    expect(await list('limit=1000')).toEqual([1, 2, 3, 4, 5, 6]);
    const full = (await admin.get('execution')).json();
    expect((await admin.get('execution?limit=1')).json()).toEqual({ 5: full[5] });
  });

  test.each([
    ['submit', 3, [1, 2], [4, 5, 6]],
    ['start', 102, [1], [3, 6]],
    ['end', 201, [], [2]],
  ])(
    'H105: the filters on the time of %s are strict, and executions without that time pass neither',
    async (time, at, earlier, later) => {
      expect(await list(`earlier_than_${time}=${seconds(at)}`)).toEqual(earlier);
      expect(await list(`later_than_${time}=${seconds(at)}`)).toEqual(later);
    },
  );

  test('H105: fractions of a millisecond count, and extreme times do no harm', async () => {
    expect(await list(`earlier_than_submit=${seconds(1)}1`)).toEqual([1]);
    expect(await list(`later_than_submit=${seconds(6)}9`)).toEqual([5]);
    expect(await list('later_than_submit=-1e99')).toEqual([1, 2, 3, 4, 5, 6]);
    expect(await list('later_than_submit=1e99')).toEqual([]);
    expect(await list('later_than_submit=1.7e9&earlier_than_submit=99999999999999999999.5')).toHaveLength(6);
  });
});
