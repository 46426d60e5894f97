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
} from '../../../control-plane/store/db.ts';
import { memoryDatabase } from '../memory-database.ts';
import { forTheLiving, type Process, world } from './time.ts';

/** A row as it is after a commit; undefined where it was removed. */
export interface Change {
  table: string;
  id: number;
  row: Row | undefined;
}

/** All rows of one moment, by table. */
export type Copy = ReadonlyMap<string, readonly Row[]>;

export type CommitFault = 'refused' | 'done but failed' | 'done later but failed';

const WATCHED = ['executions', 'services', 'hosts', 'quotas', 'users'];
/** What a copy holds: all that changes in a world; none refers to a later one. */
const COPIED = [
  'quotas',
  'users',
  'hosts',
  'executions',
  'services',
  'join_tokens',
  'unknown_services',
  'coordinator',
];
/** After this a remote database counts as unavailable. */
const TIMEOUT_MS = 30_000;

/** Made once: it takes longer than a short run. */
let kept: Db | undefined;

/** A database that notes each row that changes. */
async function watchedDatabase(): Promise<Db> {
  const db = await memoryDatabase();
  await db.query('CREATE TABLE sim_log (number INTEGER PRIMARY KEY, of TEXT, id INTEGER, data TEXT)');
  for (const table of WATCHED) {
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
  away = false;
  slowMs = 0;
  /** Becomes of the next commits. */
  readonly faults: CommitFault[] = [];
  /** How often it was replaced by a copy: what is under way to the one before comes to nothing. */
  life = 0;

  private constructor(db: Db, changed: (changes: Change[]) => void) {
    this.db = db;
    this.#changed = changed;
  }

  static async open(changed: (changes: Change[]) => void): Promise<Store> {
    kept ??= await watchedDatabase();
    await empty(kept);
    return new Store(kept, changed);
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

  /** As it is now; to be called in an event of its own. */
  async copy(tables = [...COPIED, 'sqlite_sequence']): Promise<Copy> {
    const copy = new Map<string, readonly Row[]>();
    for (const table of tables) copy.set(table, await this.db.query(`SELECT * FROM ${table}`));
    return copy;
  }

  /**
   * It is an older copy of itself from now on, which `prepare` may change; likewise in an event of its own. Returns what the
   * checkers are to know from now on.
   */
  async replaceBy(copy: Copy, prepare: (db: Db) => Promise<void>): Promise<Change[]> {
    this.life += 1;
    const emptied = COPIED.toReversed().map((table) => ({ sql: `DELETE FROM ${table}`, args: [] }));
    const filled = [...copy].flatMap(([table, rows]) => rows.map((row) => insertInto(table, row)));
    await this.db.batch([...emptied, { sql: 'DELETE FROM sqlite_sequence', args: [] }]);
    // What is inserted counts anew.
    await this.db.batch(filled.filter(({ sql }) => !sql.includes('sqlite_sequence')));
    await this.db.batch([
      { sql: 'DELETE FROM sqlite_sequence', args: [] },
      ...filled.filter(({ sql }) => sql.includes('sqlite_sequence')),
    ]);
    await prepare(this.db);
    await this.db.query('DELETE FROM sim_log');
    return [...(await this.copy(WATCHED))].flatMap(([table, rows]) =>
      rows.map((row) => ({ table, id: Number(row.id), row })),
    );
  }

  connect(process: Process): Db {
    return new Connection(this, process);
  }
}

function insertInto(table: string, row: Row): Statement {
  const columns = Object.keys(row);
  const places = columns.map(() => '?');
  return {
    sql: `INSERT INTO ${table} (${columns}) VALUES (${places})`,
    args: columns.map((column) => row[column] ?? null),
  };
}

class Connection implements Db {
  readonly #store: Store;
  readonly #process: Process;
  readonly #life: number;

  constructor(store: Store, process: Process) {
    this.#store = store;
    this.#process = process;
    this.#life = store.life;
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
    return forTheLiving(this.#process, this.#answer(label, isRead, effect));
  }

  async #answer<T>(label: string, isRead: boolean, effect: () => Promise<T>): Promise<T> {
    const store = this.#store;
    await world().pause(store.slowMs > 0 ? world().between(1, store.slowMs) : world().random());
    if (store.away) {
      await world().pause(world().pick([1, TIMEOUT_MS]));
      throw unavailable();
    }
    this.#demandLife();
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
      if (this.#store.life !== this.#life) return;
      await effect().catch(() => {});
      await this.#store.publish();
    };
    if (fault === 'done but failed') await carryOut();
    if (fault === 'done later but failed') world().after(world().between(1, 20_000), () => void carryOut());
    throw unavailable();
  }

  #demandLife(): void {
    if (this.#store.life !== this.#life) throw unavailable();
  }
}

const unavailable = () => new DatabaseError('unavailable', 'the network is down');
