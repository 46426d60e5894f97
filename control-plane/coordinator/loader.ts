/**
 * Loader: brings the descriptions and services of executions that wait into memory, when a turn needs them.
 * Descriptions that may be needed soon are kept: those just submitted, and those read along with others.
 */
import { newServices } from '../core/lifecycle/submission.ts';
import { type Execution, isLoaded } from '../core/model/execution.ts';
import type { Changes, Description } from '../core/state/changes.ts';
import type { Cluster } from '../core/state/cluster.ts';
import { load } from '../core/state/loading.ts';
import { loadDescriptions, loadServiceRows, servicesFrom } from '../store/cluster/waiting-rows.ts';
import type { Db, Row } from '../store/db/db.ts';

/** Characters of the descriptions that are kept. */
const MAX_KEPT = 2 ** 20;
/** A new execution behind more others than this waits long enough to be read from the database. */
const MAX_QUEUE = 1_000;
/** Bytes of the descriptions in one query, except that a single one may be larger. */
const MAX_READ_BYTES = 2 ** 20;
/** Executions whose descriptions are read along with others. */
const MAX_READ_AHEAD = 100;

/** What was read of an execution that waits. */
export interface ReadExecution {
  execution: Execution;
  /** What the loader had as its revision before the read. */
  revision: number;
  text: string;
  rows: Row[] | undefined;
}

export class Loader {
  readonly #db: Db;
  /** By execution id, the oldest first. */
  readonly #kept = new Map<number, string>();
  #keptLength = 0;
  /** How often the rows of services of an execution that waits have changed. */
  readonly #revisions = new WeakMap<Execution, number>();

  constructor(db: Db) {
    this.#db = db;
  }

  /** Keeps the description of a new execution if it may be placed soon. */
  submitted({ queue }: Cluster, executionId: number, description: string): void {
    if (queue.size <= MAX_QUEUE) this.#keep(executionId, description);
  }

  #keep(executionId: number, description: string): void {
    this.#take(executionId);
    if (description.length > MAX_KEPT / 4) return;
    this.#kept.set(executionId, description);
    this.#keptLength += description.length;
    for (const [oldest] of this.#kept) {
      if (this.#keptLength <= MAX_KEPT) return;
      this.#take(oldest);
    }
  }

  /** Forgets all descriptions: after a failed commit an id may be given again. */
  clear(): void {
    this.#kept.clear();
    this.#keptLength = 0;
  }

  /** Loads the executions, as far as this is possible without a query. Returns the others. */
  loadKept(cluster: Cluster, executions: readonly Execution[]): Execution[] {
    return executions.filter((execution) => {
      if (isLoaded(execution)) return false;
      if (execution.hasServiceRows) return true;
      const kept = this.#take(execution.id);
      const description =
        cluster.changes.newExecutions.get(execution) ?? (kept === undefined ? undefined : parsed(kept));
      if (!description) return true;
      load(cluster, execution, description, newServices(execution, description.application));
      return false;
    });
  }

  /** Loads the executions from the database, some megabytes at once. */
  async load(cluster: Cluster, executions: readonly Execution[]): Promise<void> {
    let missing = this.loadKept(cluster, executions);
    while (missing.length > 0) {
      const page = withinBytes(missing);
      const ahead = missing.length === 1 ? this.#ahead(cluster, page) : [];
      const [descriptions, rows] = await this.#readPage(page, ahead);
      for (const execution of page) {
        const text = descriptions.get(execution.id);
        if (text === undefined) throw new Error(`execution ${execution.id} has no row`);
        const description = parsed(text);
        const services = servicesFrom(execution, description.application, rows.get(execution.id));
        load(cluster, execution, description, services);
      }
      for (const id of ahead) this.#keep(id, descriptions.get(id) ?? '');
      missing = missing.slice(page.length);
    }
  }

  /**
   * Reads, outside of a turn, what `load` would add to the executions. Those that have no row yet are left
   * out.
   */
  async read(executions: readonly Execution[]): Promise<ReadExecution[]> {
    const missing = executions.filter((one) => !isLoaded(one) && !this.#kept.has(one.id));
    const reads = missing.map((execution) => ({ execution, revision: this.#revisions.get(execution) ?? 0 }));
    const found: ReadExecution[] = [];
    for (let at = 0; at < reads.length; ) {
      const page = withinBytes(missing.slice(at));
      const [descriptions, rows] = await this.#readPage(page);
      for (const { execution, revision } of reads.slice(at, at + page.length)) {
        const text = descriptions.get(execution.id);
        if (text !== undefined) found.push({ execution, revision, text, rows: rows.get(execution.id) });
      }
      at += page.length;
    }
    return found;
  }

  /** The descriptions of a page and of the ids `ahead`, and the rows of services that were placed before. */
  #readPage(page: readonly Execution[], ahead: readonly number[] = []) {
    const placedBefore = page.filter(({ hasServiceRows }) => hasServiceRows).map(({ id }) => id);
    return Promise.all([
      loadDescriptions(this.#db, [...page.map(({ id }) => id), ...ahead]),
      loadServiceRows(this.#db, placedBefore),
    ]);
  }

  /**
   * Loads those of the executions that still wait, from what was read of them. False if some of it is
   * missing, or has changed since.
   */
  loadRead(cluster: Cluster, executions: readonly Execution[], reads: readonly ReadExecution[]): boolean {
    const waiting = executions.filter(({ id, status }) => status === 'queued' && cluster.executions.has(id));
    const missing = this.loadKept(cluster, waiting);
    for (const { execution, revision, text, rows } of reads) {
      if (!missing.includes(execution) || (this.#revisions.get(execution) ?? 0) !== revision) continue;
      const description = parsed(text);
      load(cluster, execution, description, servicesFrom(execution, description.application, rows));
    }
    return missing.every(isLoaded);
  }

  /** The rows of these services have changed: what was read of them before is out of date. */
  committed({ services, newServices }: Pick<Changes, 'services' | 'newServices'>, cluster: Cluster): void {
    const changed = new Set(newServices);
    for (const { executionId } of services) {
      const execution = cluster.executions.get(executionId);
      if (execution) changed.add(execution);
    }
    for (const execution of changed)
      if (execution.status === 'queued')
        this.#revisions.set(execution, (this.#revisions.get(execution) ?? 0) + 1);
  }

  /** Ids of executions that are likely to be placed next, and whose descriptions fit into the same query. */
  #ahead({ queue, changes }: Cluster, [first]: readonly Execution[]): number[] {
    const ids: number[] = [];
    if (!first) return ids;
    let bytes = first.descriptionBytes;
    for (const execution of queue.after(first)) {
      const { id, descriptionBytes, hasServiceRows } = execution;
      if (ids.length >= MAX_READ_AHEAD || bytes + descriptionBytes > MAX_READ_BYTES) break;
      const isAtHand = isLoaded(execution) || this.#kept.has(id) || changes.newExecutions.has(execution);
      if (isAtHand || hasServiceRows) continue;
      ids.push(id);
      bytes += descriptionBytes;
    }
    return ids;
  }

  #take(executionId: number): string | undefined {
    const description = this.#kept.get(executionId);
    if (description === undefined) return undefined;
    this.#kept.delete(executionId);
    this.#keptLength -= description.length;
    return description;
  }
}

/** Validated at submission. */
const parsed = (text: string): Description => ({ text, application: JSON.parse(text) });

/** The first of the executions, as many as one query may read; at least one. */
function withinBytes(executions: readonly Execution[]): Execution[] {
  let bytes = 0;
  const end = executions.findIndex(({ descriptionBytes }, at) => {
    bytes += descriptionBytes;
    return at > 0 && bytes > MAX_READ_BYTES;
  });
  return executions.slice(0, end < 0 ? Math.min(executions.length, 1_000) : end);
}
