/**
 * Groups small reads: those of one turn of the event loop run together at its end, in one request where the
 * database is a server, and equal reads run once (STORE-6).
 */
import { type Argument, DatabaseError, type Db, type Row, type Statement } from './db.ts';

/** Reads in one request. What they return must fit into one answer of a server. */
const MAX_TOGETHER = 100;

/** The reads that run together. On Node all, on workerd those of one request. */
export class ReadGroup {
  readonly #db: Db;
  readonly #defer: (run: () => void) => void;
  #waiting: Read[] = [];
  /** By text, then by values: the hash of a constant text is computed only once. */
  readonly #answers = new Map<string, Map<string, Promise<Row[]>>>();

  /** `defer` runs its argument once, after what the present turn of the event loop has left to do. */
  constructor(db: Db, defer: (run: () => void) => void) {
    this.#db = db;
    this.#defer = defer;
  }

  /** Adds a read. It sees every write that was requested before it, and possibly later ones. */
  query(sql: string, args: readonly Argument[]): Promise<Row[]> {
    const ofText = this.#answers.get(sql) ?? new Map<string, Promise<Row[]>>();
    const values = JSON.stringify(args);
    const pending = ofText.get(values);
    if (pending) return pending;
    const answer = new Promise<Row[]>((resolve) => this.#waiting.push({ sql, args, resolve }));
    this.#answers.set(sql, ofText.set(values, answer));
    if (this.#waiting.length === 1) this.#defer(() => this.run());
    return answer;
  }

  /** Runs what waits. */
  run(): void {
    const reads = this.#waiting;
    this.#waiting = [];
    this.#answers.clear();
    const { readTogether } = this.#db;
    if (!readTogether || reads.length === 1) for (const read of reads) this.#runAlone(read);
    else
      for (let at = 0; at < reads.length; at += MAX_TOGETHER)
        this.#runTogether(reads.slice(at, at + MAX_TOGETHER));
  }

  #runAlone({ sql, args, resolve }: Read): void {
    resolve(this.#db.query(sql, args));
  }

  #runTogether(reads: readonly Read[]): void {
    this.#db.readTogether?.(reads).then(
      (answers) => {
        for (const [at, { resolve }] of reads.entries()) resolve(answers[at] ?? []);
      },
      (error) => {
        // Alone, each shows its own error, and one that fails by itself fails no other.
        const isAway = error instanceof DatabaseError && error.kind === 'unavailable';
        for (const read of reads) isAway ? read.resolve(Promise.reject(error)) : this.#runAlone(read);
      },
    );
  }
}

interface Read extends Statement {
  resolve: (rows: Row[] | Promise<Row[]>) => void;
}

/**
 * Wraps a database whose small reads run in the group that `group` returns; at once, if it returns none.
 * Other queries may write (RETURNING), or return too much to share an answer.
 */
export const groupReads = (db: Db, group: () => ReadGroup | undefined): Db => ({
  query: (sql, args = []) => (sql.endsWith('LIMIT 1') && group()?.query(sql, args)) || db.query(sql, args),
  batch: (statements) => db.batch(statements),
  batchRows: (statements) => db.batchRows(statements),
  ...(db.readTogether && { readTogether: db.readTogether.bind(db) }),
  ...(db.shrink && { shrink: (maxPages) => db.shrink?.(maxPages) ?? Promise.resolve(0) }),
  ...(db.isLocked && { isLocked: () => db.isLocked?.() ?? false }),
  close: () => {
    group()?.run();
    return db.close();
  },
});

/**
 * All small reads in one group, for a Node process or a Durable Object. In a Worker, no request may wait for
 * the I/O of another. `defer`: see ReadGroup.
 */
export function groupAllReads(db: Db, defer: (run: () => void) => void = setImmediate): Db {
  const group = new ReadGroup(db, defer);
  return groupReads(db, () => group);
}

/**
 * The same database, with all reads of one step of a program in one request, for one who reads much at once.
 * What they return must fit into one answer of a server.
 */
export function readsOfOneStep(db: Db): Db {
  const group = new ReadGroup(db, (run) => queueMicrotask(run));
  return { ...groupReads(db, () => group), query: (sql, args = []) => group.query(sql, args) };
}
