/**
 * A migrated database in memory with one user, and a wrapper that counts commits and fails them on request.
 */
import { onTestFinished } from 'vitest';
import {
  type Argument,
  DatabaseError,
  type Db,
  type Row,
  type Statement,
} from '../../../control-plane/store/db/db.ts';
import { openEmbedded } from '../../../control-plane/store/db/embedded.ts';
import { migrate } from '../../../control-plane/store/schema/migrate.ts';
import { migrations } from '../../../control-plane/store/schema/migrations.ts';

/** User 1 is alice; her quota, 1, has no limits. With the `url` of a file, the database is there. */
export async function memoryDatabase(url = ':memory:'): Promise<Db> {
  const db = await openEmbedded(url);
  await migrate(db, migrations);
  await db.query('UPDATE quotas SET concurrent_executions = 0, memory = 0, cores = 0');
  await db.query(
    `INSERT INTO users (id, username, email, role_id, quota_id, auth_source, fs_uid, priority, enabled)
      VALUES (1, 'alice', '', 1, 1, 'internal', 1000, 0, 1)`,
  );
  return db;
}

/** The same, until the test ends. */
export async function testDatabase(url?: string): Promise<Db> {
  const db = await memoryDatabase(url);
  onTestFinished(() => db.close());
  return db;
}

export class FaultyDb implements Db {
  /** Statements of each attempted commit. */
  readonly batches: (readonly Statement[])[] = [];
  /**
   * How further calls fail: `refused` and `committed` fail commits, before or after the database applied
   * them; `unreachable` fails queries and commits.
   */
  failing: 'no' | 'refused' | 'committed' | 'unreachable' = 'no';
  /** Called before each commit, which waits for its promise. */
  before: () => void | Promise<void> = () => {};
  /** Called after each query, whose answer waits for its promise. */
  afterQuery: (sql: string) => void | Promise<void> = () => {};
  readonly #db: Db;

  constructor(db: Db) {
    this.#db = db;
  }

  /** Holds commits back until `release` is called. `begun` resolves when one waits. */
  hold(): { begun: Promise<void>; release(): void } {
    const [begun, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    this.before = () => {
      begun.resolve();
      return released.promise;
    };
    const release = () => {
      this.before = () => {};
      released.resolve();
    };
    return { begun: begun.promise, release };
  }

  async query(sql: string, args: readonly Argument[] = []): Promise<Row[]> {
    if (this.failing === 'unreachable') throw unavailable();
    const rows = await this.#db.query(sql, args);
    await this.afterQuery(sql);
    return rows;
  }

  batch(statements: readonly Statement[]): Promise<number[]> {
    return this.#attempt(statements, () => this.#db.batch(statements));
  }

  batchRows(statements: readonly Statement[]): Promise<Row[][]> {
    return this.#attempt(statements, () => this.#db.batchRows(statements));
  }

  async #attempt<T>(statements: readonly Statement[], run: () => Promise<T>): Promise<T> {
    this.batches.push(statements);
    await this.before();
    if (this.failing === 'refused' || this.failing === 'unreachable') throw unavailable();
    const result = await run();
    if (this.failing === 'committed') throw unavailable();
    return result;
  }

  isLocked(): boolean {
    return this.#db.isLocked?.() ?? false;
  }

  close(): Promise<void> {
    return this.#db.close();
  }
}

const unavailable = () => new DatabaseError('unavailable', 'the network is down');
