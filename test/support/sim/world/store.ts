/**
 * Simulated database: a real database in memory, which outlives all control planes, and the connections to
 * it. Calls on a connection take time, are refused, or fail although the database carried them out. The
 * checks see each change as soon as it is committed.
 */
import {
  type Argument,
  DatabaseError,
  type Db,
  type Row,
  type Statement,
} from '../../../../control-plane/store/db/db.ts';
import { memoryDatabase } from '../../hosts/memory-database.ts';
import { ifAlive, type Process, world } from './time.ts';

/** A row after a commit. `row` is undefined if the row was deleted. */
export interface Change {
  table: string;
  id: number;
  row: Row | undefined;
}

/** Ids of the executions that changes are about, by themselves or by a service. */
export const executionsIn = (changes: readonly Change[]): number[] =>
  changes.flatMap(({ table, id, row }) =>
    table === 'executions' ? [id] : table === 'services' && row ? [Number(row.execution_id)] : [],
  );

/** Line of the trace for a change of an execution or a service. */
export function changeText({ table, id, row }: Change): string | undefined {
  if (table === 'executions')
    return `row: execution ${id} ${row ? `${row.status}${row.ending ? ` ${row.ending}` : ''}` : 'purged'}`;
  if (table !== 'services' || !row) return undefined;
  return `row: service ${id}.${row.generation} ${row.status} ${row.backend_status} on ${row.host_id} ${row.placed ? '' : 'not placed'}`;
}

export type CommitFault =
  | 'refused'
  | 'applied but reported as failed'
  | 'applied later but reported as failed';

const TRACKED_TABLES = ['executions', 'services', 'hosts', 'quotas', 'users', 'audit'];
/** Time after which a remote database counts as unavailable. */
const TIMEOUT_MS = 30_000;

/** Shared by all runs of the process, since making it takes longer than a short run. */
let database: Db | undefined;

/** A database whose triggers record each changed row, and each new holder, in the table `sim_log`. */
async function trackingDatabase(): Promise<Db> {
  const db = await memoryDatabase();
  await db.query('CREATE TABLE sim_log (number INTEGER PRIMARY KEY, of TEXT, id INTEGER, data TEXT)');
  for (const table of TRACKED_TABLES) {
    const columns = (await db.query(`SELECT name FROM pragma_table_info('${table}')`)).map(
      ({ name }) => name,
    );
    const data = `json_object(${columns.map((name) => `'${name}', NEW.${name}`)})`;
    for (const [event, id, what] of [
      ['INSERT', 'NEW.id', data],
      ['UPDATE', 'NEW.id', data],
      ['DELETE', 'OLD.id', 'NULL'],
    ])
      await db.query(
        `CREATE TRIGGER sim_${table}_${event} AFTER ${event} ON ${table} BEGIN
          INSERT INTO sim_log (of, id, data) VALUES ('${table}', ${id}, ${what}); END`,
      );
  }
  await db.query(
    `CREATE TRIGGER sim_coordinator AFTER UPDATE ON coordinator
      WHEN NEW.holder IS NOT NULL AND NEW.holder IS NOT OLD.holder BEGIN
      INSERT INTO sim_log (of, id, data) VALUES ('coordinator', NEW.id, json_object('holder', NEW.holder)); END`,
  );
  return db;
}

/** Restores the initial rows. The history counts as reviewed at `nowMs`. */
async function empty(db: Db, nowMs: number): Promise<void> {
  for (const table of [
    'executions',
    'idempotency_keys',
    'join_tokens',
    'hosts',
    'unknown_services',
    'audit',
    'user_secrets',
    'sessions',
    'samples',
    'sim_log',
  ])
    await db.query(`DELETE FROM ${table}`);
  await db.query(`DELETE FROM sqlite_sequence WHERE name IN ('executions', 'services', 'hosts')`);
  await db.query('DELETE FROM users WHERE id > 1');
  await db.query('DELETE FROM quotas WHERE id > 1');
  await db.query(
    'UPDATE coordinator SET epoch = 0, writer = 0, holder = NULL, unproven_ids = 0, beats = 0, beating_epoch = NULL, reviewed_ms = ?',
    [nowMs],
  );
}

export class Store {
  readonly db: Db;
  /** Called after each commit. */
  readonly #changed: (changes: Change[]) => void;
  /** When a call last had trouble, of any process and of each disturbed one. */
  #troubledMs = 0;
  readonly #troubledMsOf = new WeakMap<Process, number>();
  unavailable = false;
  slowMs = 0;
  /** Processes that cannot reach the database, or whose calls take this many milliseconds to reach it. */
  readonly disturbed = new Map<Process, 'cut off' | number>();
  /** Faults of the next commits, in this order. */
  readonly faults: CommitFault[] = [];

  private constructor(db: Db, changed: (changes: Change[]) => void) {
    this.db = db;
    this.#changed = changed;
  }

  static async open(changed: (changes: Change[]) => void): Promise<Store> {
    database ??= await trackingDatabase();
    await empty(database, world().nowMs);
    return new Store(database, changed);
  }

  /** Passes the changes committed since the last call to the checks. */
  async publish(): Promise<void> {
    const rows = await this.db.query('DELETE FROM sim_log RETURNING number, of, id, data');
    if (rows.length === 0) return;
    rows.sort((a, b) => Number(a.number) - Number(b.number));
    this.#changed(
      rows.map(({ of, id, data }) => ({
        table: String(of),
        id: Number(id),
        row: typeof data === 'string' ? (JSON.parse(data) as Row) : undefined,
      })),
    );
  }

  noteTrouble(process?: Process): void {
    if (process) this.#troubledMsOf.set(process, world().nowMs);
    else this.#troubledMs = world().nowMs;
  }

  /** When a call of the process may last have failed or been slow. */
  troubledMs(process: Process): number {
    return Math.max(this.#troubledMs, this.#troubledMsOf.get(process) ?? 0);
  }

  connect(process: Process): Db {
    return new Connection(this, process);
  }
}

class Connection implements Db {
  readonly #store: Store;
  readonly #process: Process;

  constructor(store: Store, process: Process) {
    this.#store = store;
    this.#process = process;
  }

  query(sql: string, args: readonly Argument[] = []): Promise<Row[]> {
    const isRead = sql.startsWith('SELECT');
    return this.#call(isRead ? 'a query' : 'an update', isRead, () => this.#store.db.query(sql, args));
  }

  batch(statements: readonly Statement[]): Promise<number[]> {
    return this.#call('a commit', false, () => this.#store.db.batch(statements));
  }

  batchRows(statements: readonly Statement[]): Promise<Row[][]> {
    return this.#call('a commit', false, () => this.#store.db.batchRows(statements));
  }

  async close(): Promise<void> {}

  #call<T>(label: string, isRead: boolean, effect: () => Promise<T>): Promise<T> {
    if (!world().step(this.#process, label)) return new Promise(() => {});
    return ifAlive(this.#process, this.#answer(label, isRead, effect));
  }

  async #answer<T>(label: string, isRead: boolean, effect: () => Promise<T>): Promise<T> {
    const store = this.#store;
    if (store.disturbed.size > 0) await this.#disturb();
    if (store.slowMs > 0) store.noteTrouble();
    await world().pause(store.slowMs > 0 ? world().between(1, store.slowMs) : world().random());
    if (store.unavailable) {
      store.noteTrouble();
      await world().pause(world().pick([1, TIMEOUT_MS]));
      store.noteTrouble();
      throw unavailableError();
    }
    const fault = isRead ? undefined : store.faults.shift();
    if (fault) store.noteTrouble();
    if (fault) return this.#fail(label, fault, effect);
    const result = await effect();
    if (!isRead) await store.publish();
    // A process that is killed here has committed but receives no answer.
    world().step(this.#process, `${label}, done`);
    return result;
  }

  async #disturb(): Promise<void> {
    const how = this.#store.disturbed.get(this.#process);
    if (how === undefined) return;
    this.#store.noteTrouble(this.#process);
    await world().pause(how === 'cut off' ? 1 : how);
    this.#store.noteTrouble(this.#process);
    if (how === 'cut off') throw unavailableError();
  }

  async #fail(label: string, fault: CommitFault, effect: () => Promise<unknown>): Promise<never> {
    world().count(`fault: ${label} ${fault}`);
    world().note(`${label} of ${this.#process.name} is ${fault}`);
    const carryOut = async () => {
      await effect().catch(() => {});
      await this.#store.publish();
    };
    if (fault === 'applied but reported as failed') await carryOut();
    if (fault === 'applied later but reported as failed')
      world().after(world().between(1, 20_000), () => void carryOut());
    throw unavailableError();
  }
}

const unavailableError = () => new DatabaseError('unavailable', 'the network is down');
