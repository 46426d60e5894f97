/** Filters of the list of executions, compared with a plain evaluation of each filter on every row. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ExecutionStatus } from '../../../control-plane/core/model/execution.ts';
import {
  type ExecutionFilter,
  executionTimes,
  MAX_COUNT,
  SEARCHED_NAMES,
} from '../../../control-plane/core/views/execution-filter.ts';
import type { Db } from '../../../control-plane/store/db/db.ts';
import { filterCondition } from '../../../control-plane/store/executions/execution-filter-sql.ts';
import {
  countAll,
  countExecutions,
  findSearchEnd,
} from '../../../control-plane/store/executions/execution-lines.ts';
import { memoryDatabase } from '../../support/hosts/memory-database.ts';
import { pickOne, seededRandom } from '../../support/tools/random.ts';
import { caseCount } from '../../support/tools/random-cases.ts';

const ROWS = 30_000;
const FILTERS = caseCount(60);
const STATUSES: readonly ExecutionStatus[] = [...Array(3).fill('terminated'), 'error', 'running', 'queued'];

interface Row {
  id: number;
  name: string;
  userId: number;
  status: ExecutionStatus;
  submit: number;
  start: number | null;
  end: number | null;
}

let db: Db;
const rows: Row[] = [];
const random = seededRandom(8);
const upTo = (count: number) => Math.floor(random() * count);

beforeAll(async () => {
  db = await memoryDatabase();
  await db.query(`INSERT INTO users (id, username, email, role_id, quota_id, auth_source, fs_uid, priority, enabled)
    VALUES (2, 'bob', '', 1, 1, 'internal', 1, 0, 1)`);
  for (let id = 1; id <= ROWS; id++) {
    const status = pickOne(random, STATUSES) ?? 'error';
    const submit = 10 * id + upTo(50);
    const hasStarted = status === 'running' || (status !== 'queued' && upTo(10) > 0);
    const start = hasStarted ? submit + upTo(200) : null;
    const end = status === 'terminated' || status === 'error' ? (start ?? submit) + upTo(2_000) : null;
    rows.push({ id, name: `Job-${upTo(500)}`, userId: 1 + upTo(2), status, submit, start, end });
  }
  await db.batch([
    {
      sql: `INSERT INTO executions (id, name, user_id, description, status, deleted, time_submit_ms, time_start_ms,
        time_end_ms, attempts) SELECT value ->> 'id', value ->> 'name', value ->> 'userId', '', value ->> 'status', 0,
        value ->> 'submit', value ->> 'start', value ->> 'end', 0 FROM json_each(?)`,
      args: [JSON.stringify(rows)],
    },
  ]);
});
afterAll(() => db.close());

const newestFirst = (a: Row, b: Row) => b.submit - a.submit || b.id - a.id;

function passes(row: Row, filter: ExecutionFilter): boolean {
  const { status, name, owner, earlierThanMs = {}, laterThanMs = {}, olderThan } = filter;
  const since = filter.runningSinceMs ?? Number.POSITIVE_INFINITY;
  const isEarly = row.start !== null && row.start > since;
  const seen = isEarly ? 'running' : row.status;
  const isInSpan = executionTimes.every((time) => {
    const earlier = earlierThanMs[time];
    const later = laterThanMs[time];
    if (earlier === undefined && later === undefined) return true;
    const value = isEarly && time === 'end' ? null : row[time];
    return value !== null && value < (earlier ?? Number.POSITIVE_INFINITY) && value > (later ?? -1);
  });
  const isOlder =
    !olderThan ||
    row.submit < olderThan.timeSubmitMs ||
    (row.submit === olderThan.timeSubmitMs && row.id < olderThan.id);
  const isOwn =
    !owner || ('id' in owner ? row.userId === owner.id : owner.username === 'bob' && row.userId === 2);
  return isInSpan && isOlder && isOwn && (status ?? seen) === seen && (name ?? row.name) === row.name;
}

const expectedIds = (filter: ExecutionFilter) =>
  rows
    .filter((row) => passes(row, filter))
    .sort(newestFirst)
    .slice(0, filter.limit)
    .map(({ id }) => id);

async function foundIds(filter: ExecutionFilter): Promise<number[]> {
  const { sql, args } = filterCondition(filter);
  const found = await db.query(`SELECT id, time_submit_ms FROM executions WHERE ${sql}`, args);
  return found
    .sort((a, b) => Number(b.time_submit_ms) - Number(a.time_submit_ms) || Number(b.id) - Number(a.id))
    .map(({ id }) => Number(id));
}

function randomFilter(): ExecutionFilter {
  const maybe = <T>(value: T) => (random() < 0.3 ? value : undefined);
  const time = () => upTo(11 * ROWS);
  const times = () => {
    const chosen = Object.fromEntries(executionTimes.map((name) => [name, maybe(time())]));
    return Object.fromEntries(Object.entries(chosen).filter(([, value]) => value !== undefined));
  };
  const fields = {
    status: maybe(pickOne(random, STATUSES)),
    name: maybe(`Job-${upTo(510)}`),
    owner: maybe(random() < 0.5 ? { id: 1 + upTo(3) } : { username: random() < 0.5 ? 'bob' : 'nobody' }),
    olderThan: maybe({ timeSubmitMs: time(), id: upTo(ROWS) }),
    limit: upTo(30),
    runningSinceMs: maybe(time()),
    earlierThanMs: times(),
    laterThanMs: times(),
  };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

test('H100, H104, H105, H106, H168: any filter with a limit finds the newest of all executions that pass', async () => {
  const kinds = { none: 0, some: 0, full: 0 };
  for (let at = 0; at < FILTERS; at++) {
    const filter = randomFilter();
    const expected = expectedIds(filter);
    expect(await foundIds(filter), JSON.stringify(filter)).toEqual(expected);
    kinds[expected.length === 0 ? 'none' : expected.length < (filter.limit ?? 0) ? 'some' : 'full'] += 1;
  }
  expect(Math.min(...Object.values(kinds))).toBeGreaterThan(3);
});

test.each(['start', 'end'] as const)(
  'H106: a span of %s times with few matches and one with many give the same as a plain search',
  async (time) => {
    for (const later of [0, 5 * ROWS, 9 * ROWS, 9.9 * ROWS, 10 * ROWS])
      for (const width of [50, 2_000, 20 * ROWS])
        for (const limit of [20, 7_000]) {
          const filter = { laterThanMs: { [time]: later }, earlierThanMs: { [time]: later + width }, limit };
          expect(await foundIds(filter), JSON.stringify(filter)).toEqual(expectedIds(filter));
        }
  },
);

const byStatus = (some: readonly Row[]) => {
  const groups = Map.groupBy(some, ({ status }) => status);
  return new Map([...groups].map(([status, { length }]) => [status, length]));
};

const countsOf = (filter: ExecutionFilter) => byStatus(rows.filter((one) => passes(one, filter)));

test('H390: each status that passes the filter is counted exactly up to 10,000, and not beyond', async () => {
  const counts = countsOf({});
  expect(counts.get('terminated')).toBeGreaterThan(MAX_COUNT);
  counts.set('terminated', MAX_COUNT + 1);
  expect(new Map(await countExecutions(db, {}))).toEqual(counts);
  for (const filter of [{ owner: { id: 2 } }, { name: 'Job-7' }, { laterThanMs: { submit: 9 * ROWS } }])
    expect(new Map(await countExecutions(db, filter))).toEqual(countsOf(filter));
});

const searched = (filter: ExecutionFilter) =>
  rows
    .filter((row) => passes(row, filter))
    .sort(newestFirst)
    .slice(0, SEARCHED_NAMES);
const matches = (filter: ExecutionFilter, part: string) =>
  searched(filter).filter(({ name }) => name.toLowerCase().includes(part));

test('H393: a part of a name is found in any case, to the letter, among the 25,000 newest executions that pass the other filters', async () => {
  for (const part of ['%', '_', '\\', "'"])
    expect(await foundIds({ nameContains: part, limit: 10 }), part).toEqual([]);
  for (const filter of [{}, { owner: { id: 1 } }, { status: 'error' as const }]) {
    const expected = matches(filter, 'b-49').map(({ id }) => id);
    expect(await foundIds({ ...filter, nameContains: 'B-49', limit: 100_000 })).toEqual(expected);
    expect(await foundIds({ ...filter, nameContains: 'B-49', limit: 5 })).toEqual(expected.slice(0, 5));
  }
});

test('H393: the search continues after the last execution that it has read', async () => {
  const last = searched({}).at(-1);
  const end = await findSearchEnd(db, { nameContains: 'b-49' });
  expect(end).toEqual({ timeSubmitMs: last?.submit, id: last?.id });
  if (!end) return;
  const older = matches({ olderThan: end }, 'b-49').map(({ id }) => id);
  expect(await foundIds({ nameContains: 'b-49', olderThan: end, limit: 10 })).toEqual(older.slice(0, 10));
  expect(await findSearchEnd(db, { nameContains: 'b-49', olderThan: end })).toBeUndefined();
});

const searchedCounts = (filter: ExecutionFilter) => byStatus(matches(filter, 'b-49'));

test('H390, H393: the counts are those of the executions that were searched; all matches are counted if these are all that pass the other filters', async () => {
  expect(new Map(await countExecutions(db, { nameContains: 'b-49' }))).toEqual(searchedCounts({}));
  const owner = { id: 2 };
  expect(searched({ owner }).length).toBeLessThan(SEARCHED_NAMES);
  expect(await countAll(db, { owner, nameContains: 'b-49' })).toEqual(searchedCounts({ owner }));
  expect(await countAll(db, { owner, nameContains: 'none' })).toEqual(new Map());
  expect(await countAll(db, { nameContains: 'b-49' })).toBeUndefined();
  expect(await countAll(db, { owner })).toEqual(await countExecutions(db, { owner }));
});
