/** Query plans of the list of executions: the index that serves each filter with a limit. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ExecutionFilter } from '../../../control-plane/core/views/execution-filter.ts';
import type { Db } from '../../../control-plane/store/db/db.ts';
import { pagedIds } from '../../../control-plane/store/db/pages.ts';
import { filterCondition } from '../../../control-plane/store/executions/execution-filter-sql.ts';
import { migrate } from '../../../control-plane/store/schema/migrate.ts';
import { migrations } from '../../../control-plane/store/schema/migrations.ts';
import { emptyDatabase, type TestDatabase } from '../../support/hosts/databases.ts';

const submit = 'executions_by_submit';
const user = 'executions_by_user';
const status = 'executions_by_status';
const name = 'executions_by_name';
const endedByUser = 'executions_ended_by_user';

const filters: [index: string, how: string, filter: ExecutionFilter][] = [
  [user, '(user_id=?)', { owner: { id: 1 } }],
  [user, '(user_id=?)', { owner: { username: 'admin' } }],
  [user, '(user_id=? AND time_submit_ms>?)', { owner: { id: 1 }, laterThanMs: { submit: 1 } }],
  [user, '(user_id=? AND time_submit_ms<?)', { owner: { id: 1 }, earlierThanMs: { end: 1 } }],
  [endedByUser, '(user_id=? AND status=?)', { owner: { id: 1 }, status: 'error' }],
  [status, '(status=?)', { owner: { id: 1 }, status: 'running' }],
  [status, '(status=?)', { status: 'error' }],
  [status, '(status=? AND time_submit_ms<?)', { status: 'error', earlierThanMs: { submit: 1 } }],
  [status, '(status=? AND time_submit_ms<?)', { status: 'error', earlierThanMs: { end: 1 } }],
  [name, '(name=?)', { owner: { id: 1 }, name: 'x' }],
  [name, '(name=?)', { name: 'x' }],
  [name, '(name=? AND time_submit_ms<?)', { name: 'x', earlierThanMs: { submit: 1 } }],
  [name, '(name=?)', { name: 'x', status: 'error' }],
  [submit, '(time_submit_ms<?)', { earlierThanMs: { submit: 1 } }],
  [submit, '(time_submit_ms>?)', { laterThanMs: { submit: 1 } }],
  [submit, '', {}],
  [submit, '', { nameContains: 'x' }],
  [submit, '(time_submit_ms<?)', { olderThan: { timeSubmitMs: 1, id: 1 } }],
  [user, '(user_id=? AND time_submit_ms<?)', { owner: { id: 1 }, olderThan: { timeSubmitMs: 1, id: 1 } }],
  [status, '(status=? AND time_submit_ms<?)', { status: 'error', olderThan: { timeSubmitMs: 1, id: 1 } }],
  [submit, '(time_submit_ms<?)', { earlierThanMs: { start: 1 } }],
];

describe.each(['file', 'sqld on workerd'] as const)('on %s', (kind) => {
  let place: TestDatabase;
  let db: Db;
  beforeAll(async () => {
    place = await emptyDatabase(kind);
    db = await place.open();
    await migrate(db, migrations);
  });
  afterAll(() => place.remove());

  /** The steps of the plan for a limited list. */
  async function planOf(filter: ExecutionFilter): Promise<string[]> {
    const { sql, args } = filterCondition({ ...filter, limit: 20 });
    const plan: string[] = [];
    const explaining: Db = {
      query: async (text, values) => {
        const rows = await db.query(`EXPLAIN QUERY PLAN ${text}`, values);
        plan.push(...rows.map(({ detail }) => String(detail)));
        return [];
      },
      batch: (statements) => db.batch(statements),
      batchRows: (statements) => db.batchRows(statements),
      close: () => db.close(),
    };
    await pagedIds(explaining, sql, args);
    return plan;
  }

  const byId = 'SEARCH executions USING INTEGER PRIMARY KEY (rowid=?)';
  const stepsOf = (plan: readonly string[]) => plan.filter((step) => / executions\b/.test(step));

  test.each(filters)('H106: the index %s %s alone answers a limited list: %o', async (index, how, filter) => {
    const plan = await planOf(filter);
    const walk =
      how === ''
        ? `SCAN executions USING COVERING INDEX ${index}`
        : `SEARCH executions USING COVERING INDEX ${index} ${how}`;
    expect(stepsOf(plan)).toEqual([byId, walk]);
    expect(plan.join()).not.toContain('TEMP B-TREE');
  });

  const [ofEnds, ofFew] = ['SEARCH executions USING COVERING INDEX executions_by_end', 'SCAN executions'];
  const ofSubmissions = `SCAN executions USING COVERING INDEX ${submit}`;

  test('H106: a later end is searched among the few that ended since, or from the newest submission on', async () => {
    expect(stepsOf(await planOf({ laterThanMs: { end: 1 } }))).toEqual([
      byId,
      `${ofEnds} (time_end_ms>?)`,
      ofFew,
      ofSubmissions,
    ]);
    expect(stepsOf(await planOf({ laterThanMs: { end: 1 }, earlierThanMs: { end: 2 } }))).toEqual([
      byId,
      `${ofEnds} (time_end_ms>? AND time_end_ms<?)`,
      ofFew,
      `SEARCH executions USING COVERING INDEX ${submit} (time_submit_ms<?)`,
    ]);
  });

  test('H106: a later start is searched likewise, and among what is live', async () => {
    expect(stepsOf(await planOf({ laterThanMs: { start: 1 } }))).toEqual([
      byId,
      `${ofEnds} (time_end_ms>?)`,
      ofFew,
      `SEARCH executions USING COVERING INDEX ${status} (status=?)`,
      ofSubmissions,
    ]);
  });
});
