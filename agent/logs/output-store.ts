/**
 * Output store: the output of services in `<dir>/<service>/<generation>.log`, beside marks for started keys
 * and for keys that the agent gave up, and proofs of ids.
 *
 * The engine's own file is the store while its container exists. If possible, the log is a hard link to that
 * file. If the file is on another file system, it is held open, and copied when its container has ended. If
 * the engine's files cannot be read, the log API is copied continuously. All three have the same bytes at the
 * same positions. Never changes or removes a file of the engine.
 */

import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { type FileHandle, readdir, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type Assignment, keyOf, type ServiceKey } from '../../shared/protocol/assignment.ts';
import { type Container, type Engine, EngineError } from '../engine/engine.ts';
import { type Logger, messageOf } from '../logger.ts';
import { sleep } from '../sleep.ts';
import { LogRetention, type RetentionOptions } from './log-retention.ts';
import { copyOutput } from './output-copy.ts';
import * as files from './stored-files.ts';
import { type GivenIds, StoredIds } from './stored-ids.ts';

/**
 * `preserved`: the store follows the output, and must be finalised once the container has ended. `complete`:
 * the output needs no further step, so its container may be removed once it has ended.
 */
export type OutputState = 'unknown' | 'preserved' | 'complete';

/** How the output of one container is preserved. */
type Preservation =
  | { by: 'link' }
  | { by: 'handle'; source: FileHandle; copied: boolean }
  | { by: 'api'; abort: AbortController; following: Promise<void>; copied: boolean };

/** Pause before the engine's log API is called again. */
const FOLLOW_RETRY_MS = 1000;

export class OutputStore {
  readonly retention: LogRetention;
  readonly #dir: string;
  readonly #engine: Pick<Engine, 'outputFile' | 'followOutput'>;
  readonly #log: Logger;
  readonly #started: Set<string>;
  readonly #lapsed: Set<string>;
  readonly #preservations = new Map<string, Preservation & { key: ServiceKey }>();
  readonly #ids: StoredIds;

  constructor(
    dir: string,
    engine: Pick<Engine, 'outputFile' | 'followOutput'>,
    log: Logger,
    limits: Omit<RetentionOptions, 'log'>,
  ) {
    this.#dir = dir;
    this.#engine = engine;
    this.#log = log;
    mkdirSync(dir, { recursive: true });
    const paths = readdirSync(dir, { recursive: true }).map(String);
    for (const path of paths.filter(files.isUnfinished)) rmSync(`${dir}/${path}`, { force: true });
    this.retention = new LogRetention(dir, paths, { ...limits, log });
    this.#started = new Set(paths.flatMap((path) => markedKey(path, 'started')));
    this.#lapsed = new Set(paths.flatMap((path) => markedKey(path, 'lapsed')));
    this.#ids = new StoredIds(dir, paths);
  }

  wasStarted(key: ServiceKey): boolean {
    return this.#started.has(keyOf(key));
  }

  /**
   * False if another agent process has marked the key since this process began: it may have started the key
   * (P5). The two run at once only if the data folder could not be locked (P90).
   */
  markStarted(key: ServiceKey & GivenIds): boolean {
    this.#ids.keep(key);
    if (this.wasStarted(key)) return true;
    this.#started.add(keyOf(key));
    this.#ids.note(key.service);
    mkdirSync(this.#serviceDir(key.service), { recursive: true });
    return writeIfAbsent(this.#path(key, 'started'));
  }

  /**
   * Marks a key that the agent gave up: it must never start again (P33). Never throws: if the disk refuses
   * the mark, the container must stop all the same. Then only the next agent process lacks the mark.
   */
  markLapsed(key: ServiceKey): void {
    this.#lapsed.add(keyOf(key));
    try {
      mkdirSync(this.#serviceDir(key.service), { recursive: true });
      writeFileSync(this.#path(key, 'lapsed'), '');
    } catch (error) {
      this.#log('lapsed-mark.write-failed', { service: key.service, reason: messageOf(error) });
    }
  }

  isLapsed(key: ServiceKey): boolean {
    return this.#lapsed.has(keyOf(key));
  }

  lapsedKeys(): ServiceKey[] {
    return [...this.#lapsed].map(readKey);
  }

  /** The control plane will not request the key again. Its log stays. */
  unmark(key: ServiceKey): void {
    if (this.#lapsed.delete(keyOf(key))) rmSync(this.#path(key, 'lapsed'), { force: true });
    this.unmarkStarted(key);
  }

  /** The start has failed. That the key was given up meanwhile still holds (P33). */
  unmarkStarted(key: ServiceKey): void {
    if (this.#started.delete(keyOf(key))) rmSync(this.#path(key, 'started'), { force: true });
  }

  /** Removes the marks of all keys except these and those of services that are left alone. */
  retainMarks(keys: ReadonlySet<string>, isLeftAlone: (service: number) => boolean): void {
    for (const key of [...this.#started, ...this.#lapsed]) {
      if (!keys.has(key) && !isLeftAlone(readKey(key).service)) this.unmark(readKey(key));
    }
  }

  get seenIds(): Pick<StoredIds, 'highestService' | 'proven'> {
    return this.#ids;
  }

  /**
   * Prepares the output of an assignment; returns whether its key was started. If it was, the proof of its
   * ids is stored, which its container may lack. If not, a log of the same name belongs to an earlier
   * database and is removed.
   */
  accept(assignment: Assignment, hasContainer: boolean): boolean {
    const started = this.wasStarted(assignment);
    if (started || hasContainer) this.#ids.keep(assignment);
    else {
      rmSync(this.#path(assignment, 'log'), { force: true });
      this.retention.clear(assignment);
    }
    return started;
  }

  stateOf(containerId: string): OutputState {
    const preservation = this.#preservations.get(containerId);
    if (!preservation) return 'unknown';
    return preservation.by === 'link' || preservation.copied ? 'complete' : 'preserved';
  }

  /** Makes the output of a container outlive it. The container must be marked as started. */
  async preserve(container: Container): Promise<void> {
    if (this.#preservations.has(container.id)) return;
    mkdirSync(this.#serviceDir(container.service), { recursive: true });
    if (container.remark !== undefined) this.retention.noteRemark(container, container.remark);
    await this.retention.limitEarlier(container);
    const preservation = (await this.#preserveFile(container)) ?? this.#follow(container);
    const { service, generation } = container;
    this.#preservations.set(container.id, { ...preservation, key: { service, generation } });
  }

  /** Completes the stored output of an ended container. Never throws, so that its removal can follow. */
  async finalise(container: ServiceKey & { id: string }): Promise<void> {
    const preservation = this.#preservations.get(container.id);
    if (!preservation || preservation.by === 'link' || preservation.copied) return;
    try {
      if (preservation.by === 'handle') {
        const first = this.retention.firstOffset(container);
        await files.copyFrom(preservation.source, first, this.#path(container, 'log'));
        await preservation.source.close();
      } else {
        await preservation.following;
        await this.#copyApi(container, preservation.abort.signal);
      }
    } catch (error) {
      // Without its container there is nothing more to store.
      if (!(error instanceof EngineError && error.kind === 'permanent')) this.retention.noteLost(container);
      this.#log('output.lost', { service: container.service, reason: messageOf(error) });
    }
    preservation.copied = true;
  }

  /** The container no longer exists. */
  async release(container: ServiceKey & { id: string }): Promise<void> {
    const preservation = this.#preservations.get(container.id);
    if (preservation?.by === 'handle') await this.finalise(container);
    if (preservation?.by === 'api') preservation.abort.abort();
    this.#preservations.delete(container.id);
    // Nobody looks at the log of an ended service again.
    const path = this.#path(container, 'log');
    const exists = await stat(path).then(Boolean, () => false);
    if (preservation && exists) await this.retention.limit(container, path);
  }

  /** Whether more output of this key may arrive although its container has ended. */
  isGrowing(key: ServiceKey): boolean {
    return [...this.#preservations.values()].some(
      (preservation) =>
        preservation.by === 'api' && keyOf(preservation.key) === keyOf(key) && !preservation.copied,
    );
  }

  /** Opens the output of a key, wherever it is. Undefined if there is none. */
  async open(key: ServiceKey): Promise<FileHandle | undefined> {
    const stored = await files.openIfThere(this.#path(key, 'log'));
    if (stored) return stored;
    for (const preservation of this.#preservations.values()) {
      if (keyOf(preservation.key) !== keyOf(key) || preservation.by !== 'handle' || preservation.copied)
        continue;
      // Its name may be gone by now.
      const source = await files.reopen(preservation.source);
      if (source) return source;
    }
    // If the source was copied and closed meanwhile, the log is there.
    return files.openIfThere(this.#path(key, 'log'));
  }

  /** Removes the oldest output of each service that exceeds its limit, one service at a time (P121). */
  async limit(): Promise<void> {
    for (const preservation of this.#preservations.values()) {
      const { key } = preservation;
      const limit = (path: string) => this.retention.limit(key, path);
      if (preservation.by !== 'handle') await limit(this.#path(key, 'log'));
      else if (!preservation.copied) await files.useReopened(preservation.source, limit);
    }
  }

  async forget(service: number): Promise<void> {
    await rm(this.#serviceDir(service), { recursive: true, force: true });
    this.retention.forget(service);
    this.#ids.forget(service);
  }

  /**
   * Removes logs last written before `beforeMs`, and limits the others, except those of services in use: an
   * agent may have ended before it had limited them.
   */
  async expire(beforeMs: number, inUse: (service: number) => boolean): Promise<void> {
    for (const name of await readdir(this.#dir)) {
      const service = Number(name);
      // Other files in the folder are not Berth's.
      if (!/^\d+$/.test(name) || inUse(service)) continue;
      if ((await files.lastWrittenMs(`${this.#dir}/${name}`)) < beforeMs) await this.forget(service);
      else await this.#limitEnded(service);
    }
  }

  async #limitEnded(service: number): Promise<void> {
    // The folder may vanish meanwhile, or be a file of somebody else.
    const names = await readdir(this.#serviceDir(service)).catch(() => []);
    const generation = Math.max(0, ...names.map((name) => Number(/^(\d+)\.log$/.exec(name)?.[1] ?? 0)));
    if (generation === 0) return;
    const key = { service, generation };
    await this.retention.limitEarlier(key);
    await this.retention.limit(key, this.#path(key, 'log'));
  }

  /** Closes files and streams. The containers and their output stay. */
  async close(): Promise<void> {
    for (const preservation of this.#preservations.values()) {
      if (preservation.by === 'handle' && !preservation.copied) await preservation.source.close();
      if (preservation.by === 'api') preservation.abort.abort();
    }
    this.#preservations.clear();
  }

  async #preserveFile(container: Container): Promise<Preservation | undefined> {
    const path = this.#path(container, 'log');
    const file = this.#engine.outputFile(container.id);
    if (file === undefined) return undefined;
    try {
      await files.replaceByLink(file, path);
      return { by: 'link' };
    } catch {
      // On another file system, or not accessible. The next method logs its own failure.
    }
    const source = await files.openIfThere(file);
    if (!source) return undefined;
    const [stored, existing] = await Promise.all([source.stat(), stat(path).catch(() => undefined)]);
    const copied = container.state === 'exited' && existing?.size === stored.size;
    if (copied) await source.close();
    return { by: 'handle', source, copied };
  }

  #follow(container: Container): Preservation {
    const abort = new AbortController();
    return { by: 'api', abort, following: this.#followUntilEnd(container, abort.signal), copied: false };
  }

  async #followUntilEnd(container: Container, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.#copyApi(container, signal);
        return;
      } catch (error) {
        if (signal.aborted) return;
        this.#log('output.interrupted', { service: container.service, reason: messageOf(error) });
        // A person removed the container: no more output will arrive.
        if (error instanceof EngineError && error.kind === 'permanent') return;
        await sleep(FOLLOW_RETRY_MS, signal);
      }
    }
  }

  #copyApi(container: ServiceKey & { id: string }, signal: AbortSignal): Promise<void> {
    const follow = (sinceNs: bigint) => this.#engine.followOutput(container.id, sinceNs, signal);
    return copyOutput(follow, this.#path(container, 'log'), this.retention.firstOffset(container));
  }

  #serviceDir(service: number): string {
    return `${this.#dir}/${service}`;
  }

  #path({ service, generation }: ServiceKey, extension: 'log' | 'started' | 'lapsed'): string {
    return `${this.#serviceDir(service)}/${generation}.${extension}`;
  }
}

function markedKey(path: string, mark: 'started' | 'lapsed'): string[] {
  const [, generation, extension] = /(\d+)\.(\w+)$/.exec(path) ?? [];
  return generation === undefined || extension !== mark ? [] : [`${dirname(path)}.${generation}`];
}

function readKey(text: string): ServiceKey {
  const [service = 0, generation = 0] = text.split('.').map(Number);
  return { service, generation };
}

/**
 * Creates an empty file, which marks something by its existence. False if the file exists: only one process
 * creates it.
 */
function writeIfAbsent(path: string): boolean {
  try {
    writeFileSync(path, '', { flag: 'wx' });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}
