import { beforeAll, expect, test } from 'vitest';
import { basic, HttpClient } from '../../support/clients/http-client.ts';
import { addExecutions, type ExecutionRow } from '../../support/fixtures/execution-rows.ts';
import { addUser } from '../../support/fixtures/users.ts';
import { ADMIN_PASSWORD, everySetup, onHosts, queuedIn } from '../../support/hosts/hosts.ts';

const ADMIN = 1;
const ANN = 2;
const T = 1_700_000_000_000;

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

/** Number 5 was submitted last: ids do not say when. */
const rows = [
  row(1, 'first', ADMIN, 'terminated', [1, 101, 201]),
  row(2, 'twin', ANN, 'error', [2, 102, 202]),
  row(3, 'twin', ADMIN, 'running', [3, 103]),
  row(4, "o'hara; -- %_", ANN, 'queued', [4]),
  row(5, 'latest', ADMIN, 'queued', [7]),
  row(6, 'sixth', ANN, 'cleaning up', [6, 106]),
];
const seconds = (time: number) => (T + time) / 1_000;

onHosts(everySetup, (host, { variant }) => {
  const client = (...credentials: Parameters<typeof basic>) =>
    new HttpClient(() => host().url(), basic(...credentials));
  const admin = client('admin', ADMIN_PASSWORD);
  const ann = client('ann', 'secret');
  const idOf =
    variant === 'A' ? { admin: 'admin', ann: 'ann', none: 'nobody' } : { admin: '1', ann: '2', none: '99' };
  const queued = queuedIn(variant);

  const list = async (query: string, asker = admin): Promise<number[]> => {
    const reply = await asker.get(`execution?${query}`);
    expect(reply.status, reply.text).toBe(200);
    return Object.keys(reply.json()).map(Number);
  };
  const refused = async (query: string, asker = admin) => {
    const reply = await asker.get(`execution?${query}`);
    return { status: reply.status, message: reply.json<{ message: string }>().message };
  };

  beforeAll(async () => {
    await addUser(host(), 'ann', 'secret', 'user');
    const db = await host().openDb();
    await addExecutions(db, rows);
    await db.close();
  });

  test('H100: without filters, or with an empty query, all are listed', async () => {
    expect(await list('')).toEqual([1, 2, 3, 4, 5, 6]);
  });

  test('H100: filters combine with AND', async () => {
    expect(await list(`name=twin&user_id=${idOf.ann}&status=error`)).toEqual([2]);
    expect(await list(`name=twin&status=${queued}`)).toEqual([]);
    expect(await list(`status=${queued}&later_than_submit=${seconds(4)}`)).toEqual([5]);
  });

  test('H100: filters never show the executions of others to a user', async () => {
    expect(await list('', ann)).toEqual([2, 4, 6]);
    expect(await list('name=twin', ann)).toEqual([2]);
    expect(await list('limit=2', ann)).toEqual([4, 6]);
  });

  test.each([
    ['unknown', 'color=red', 'color'],
    ['that objects have by themselves', 'constructor=x', 'constructor'],
    ['given twice', 'name=a&name=b', 'name'],
    ['of a state that is none', 'status=sleeping', 'status'],
    ['of an empty state', 'status=', 'status'],
    ['of an empty name', 'name=', 'name'],
    ['of an empty user', 'user_id=', 'user_id'],
    ['of a limit with a sign', 'limit=-1', 'limit'],
    ['of a limit with a fraction', 'limit=1.5', 'limit'],
    ['of a limit too long', `limit=${'9'.repeat(16)}`, 'limit'],
    ['of a time that is a date', 'earlier_than_start=2026-01-01', 'earlier_than_start'],
    ['of a time that is not finite', 'later_than_end=Infinity', 'later_than_end'],
    ['of an empty time', 'later_than_submit=', 'later_than_submit'],
  ])('H101: a filter %s is 400 and named', async (_, query, name) => {
    const { status, message } = await refused(query);
    expect(status).toBe(400);
    expect(message).toContain(`ilter ${name} `.replace(/ $/, ''));
  });

  test('H101: without credentials a bad filter is 401', async () => {
    expect((await new HttpClient(() => host().url()).get('execution?color=red')).status).toBe(401);
  });

  test('H102: status takes the words of the group', async () => {
    expect(await list(`status=${queued}`)).toEqual([4, 5]);
    expect(await list('status=cleaning%20up')).toEqual([6]);
    expect(await list('status=cleaning+up')).toEqual([6]);
    expect(await list('status=submitted')).toEqual([]);
  });

  test('H102: the word of the other group is no state', async () => {
    expect((await refused(`status=${variant === 'A' ? 'queued' : 'scheduled'}`)).status).toBe(400);
  });

  test('H102: name is exact, and never read as SQL', async () => {
    expect(await list('name=twin')).toEqual([2, 3]);
    expect(await list('name=Twin')).toEqual([]);
    expect(await list('name=%25')).toEqual([]);
    expect(await list(`name=${encodeURIComponent("o'hara; -- %_")}`)).toEqual([4]);
  });

  test('H103: user_id is what executions show, of others for who operates them', async () => {
    expect(await list(`user_id=${idOf.ann}`)).toEqual([2, 4, 6]);
    expect(await list(`user_id=${idOf.admin}`)).toEqual([1, 3, 5]);
    expect(await list(`user_id=${idOf.none}`)).toEqual([]);
  });

  test("H103: a user may ask for the user's own, and gets 403 for anybody else", async () => {
    expect(await list(`user_id=${idOf.ann}`, ann)).toEqual([2, 4, 6]);
    expect((await refused(`user_id=${idOf.admin}`, ann)).status).toBe(403);
    expect((await refused(`user_id=${idOf.none}`, ann)).status).toBe(403);
  });

  if (variant === 'B') {
    test('H103: in group B a user name is no user_id', async () => {
      expect((await refused('user_id=ann')).status).toBe(400);
    });
  }

  test('H104: limit takes those submitted last of those that pass, and answers as ever', async () => {
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
  ])('H105: times of %s are strict, and what has none passes neither', async (time, at, earlier, later) => {
    expect(await list(`earlier_than_${time}=${seconds(at)}`)).toEqual(earlier);
    expect(await list(`later_than_${time}=${seconds(at)}`)).toEqual(later);
  });

  test('H105: fractions count, beneath a millisecond too, and times beyond all reason do no harm', async () => {
    expect(await list(`earlier_than_submit=${seconds(1)}1`)).toEqual([1]);
    expect(await list(`later_than_submit=${seconds(6)}9`)).toEqual([5]);
    expect(await list('later_than_submit=-1e99')).toEqual([1, 2, 3, 4, 5, 6]);
    expect(await list('later_than_submit=1e99')).toEqual([]);
    expect(await list('later_than_submit=1.7e9&earlier_than_submit=99999999999999999999.5')).toHaveLength(6);
  });
});
