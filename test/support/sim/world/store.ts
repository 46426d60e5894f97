/**
 * Owns the simulated database: one real one in memory, which outlives all control planes, and the connections to it, on
 * which calls take time, are refused, or fail although they were carried out. Each change is shown to the checkers at once.
 */
import {
  DatabaseError,
  type Db,
  type Row,
  type Statement,
  type Value,
} from '../../../../control-plane/store/db/db.ts';
import { memoryDatabase } from '../../hosts/memory-database.ts';
import { ifAlive, type Process, world } from './time.ts';

/** A row as it is after a commit; undefined where it was removed. */
export interface Change {
  table: string;
  id: number;
  row: Row | undefined;
}

export type CommitFault =
  | 'refused'
  | 'applied but reported as failed'
  | 'applied later but reported as failed';

const TRACKED_TABLES = ['executions', 'services', 'hosts', 'quotas', 'users'];
/** After this a remote database counts as unavailable. */
const TIMEOUT_MS = 30_000;

/** Made once: it takes longer than a short run. */
let database: Db | undefined;

/** A database that notes each row that changes. */
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
  return db;
}

/** As it was made. */
async function empty(db: Db): Promise<void> {
  for (const table of ['executions', 'join_tokens', 'hosts', 'unknown_services', 'sim_log'])
    await db.query(`DELETE FROM ${table}`);
  await db.query(`DELETE FROM sqlite_sequence WHERE name IN ('executions', 'services', 'hosts')`);
  await db.query('DELETE FROM users WHERE id > 1');
  await db.query('DELETE FROM quotas WHERE id > 1');
  await db.query('UPDATE coordinator SET epoch = 0, writer = 0, holder = NULL');
}

export class Store {
  readonly db: Db;
  /** Told after each commit. */
  readonly #changed: (changes: Change[]) => void;
  unavailable = false;
  slowMs = 0;
  /** Becomes of the next commits. */
  readonly faults: CommitFault[] = [];

  private constructor(db: Db, changed: (changes: Change[]) => void) {
    this.db = db;
    this.#changed = changed;
  }

  static async open(changed: (changes: Change[]) => void): Promise<Store> {
    database ??= await trackingDatabase();
    await empty(database);
    return new Store(database, changed);
  }

  /** Tells the checkers what was committed. */
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

  query(sql: string, args: readonly Value[] = []): Promise<Row[]> {
    const isRead = sql.startsWith('SELECT');
    return this.#call(isRead ? 'a query' : 'an update', isRead, () => this.#store.db.query(sql, args));
  }

  batch(statements: readonly Statement[]): Promise<number[]> {
    return this.#call('a commit', false, () => this.#store.db.batch(statements));
  }

  async close(): Promise<void> {}

  #call<T>(label: string, isRead: boolean, effect: () => Promise<T>): Promise<T> {
    if (!world().step(this.#process, label)) return new Promise(() => {});
    return ifAlive(this.#process, this.#answer(label, isRead, effect));
  }

  async #answer<T>(label: string, isRead: boolean, effect: () => Promise<T>): Promise<T> {
    const store = this.#store;
    await world().pause(store.slowMs > 0 ? world().between(1, store.slowMs) : world().random());
    if (store.unavailable) {
      await world().pause(world().pick([1, TIMEOUT_MS]));
      throw unavailableError();
    }
    const fault = isRead ? undefined : store.faults.shift();
    if (fault) return this.#fail(label, fault, effect);
    const result = await effect();
    if (!isRead) await store.publish();
    // Killed now: it is committed, and nobody was told.
    world().step(this.#process, `${label}, done`);
    return result;
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
