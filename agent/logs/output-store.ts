/**
 * Owns the stored output of services, `<dir>/<service>/<generation>.log`, and beside it the mark that a key was started.
 *
 * The engine's own file is the store while its container exists. Where a hard link can be made, ours is that file;
 * where it is on another file system, it is held open and copied when the container has ended, before it is removed;
 * where the engine's files can't be read, its log API is copied as it comes. All three have the same bytes at the same
 * positions. Never changes or removes a file of the engine's.
 */
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { copyFile, type FileHandle, link, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { keyOf, type ServiceKey } from '../../shared/protocol/assignment.ts';
import { type Container, type Engine, EngineError } from '../engine/engine.ts';
import { type Logger, messageOf } from '../logger.ts';
import { sleep } from '../sleep.ts';
import { copyOutput } from './output-copy.ts';

/**
 * `preserved`: the store follows the output, and must be finalised once the container has ended. `complete`: the output
 * needs no further step, so its container may be removed once it has ended.
 */
export type OutputState = 'unknown' | 'preserved' | 'complete';

/** How the output of one container is preserved. */
type Preservation =
  | { by: 'link' }
  | { by: 'handle'; source: FileHandle; copied: boolean }
  | { by: 'api'; abort: AbortController; following: Promise<void>; copied: boolean };

/** Wait before the engine's log API is asked again. */
const FOLLOW_RETRY_MS = 1000;

export class OutputStore {
  readonly #dir: string;
  readonly #engine: Pick<Engine, 'outputFile' | 'followOutput'>;
  readonly #log: Logger;
  readonly #started: Set<string>;
  readonly #lapsed: Set<string>;
  readonly #preservations = new Map<string, Preservation & { key: string }>();
  #highestService: number;

  constructor(dir: string, engine: Pick<Engine, 'outputFile' | 'followOutput'>, log: Logger) {
    this.#dir = dir;
    this.#engine = engine;
    this.#log = log;
    mkdirSync(dir, { recursive: true });
    const paths = readdirSync(dir, { recursive: true }).map(String);
    this.#started = new Set(paths.flatMap((path) => markedKey(path, 'started')));
    this.#lapsed = new Set(paths.flatMap((path) => markedKey(path, 'lapsed')));
    this.#highestService = paths.reduce(
      (highest, path) => Math.max(highest, Number.parseInt(path, 10) || 0),
      0,
    );
  }

  wasStarted(key: ServiceKey): boolean {
    return this.#started.has(keyOf(key));
  }

  markStarted(key: ServiceKey): void {
    if (this.wasStarted(key)) return;
    this.#started.add(keyOf(key));
    this.#highestService = Math.max(this.#highestService, key.service);
    mkdirSync(this.#serviceDir(key.service), { recursive: true });
    writeFileSync(this.#path(key, 'started'), '');
  }

  /**
   * It was stopped, or is to be, because there was no contact: it is never started again (P33). Never throws: where the disk
   * takes no mark it has to stop all the same, and only the next process does not know why.
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

  /** The key will not be asked for again; its log stays. */
  unmark(key: ServiceKey): void {
    if (this.#lapsed.delete(keyOf(key))) rmSync(this.#path(key, 'lapsed'), { force: true });
    if (this.#started.delete(keyOf(key))) rmSync(this.#path(key, 'started'), { force: true });
  }

  /** Unmarks all keys but these, and those of services that are left alone. */
  retainMarks(keys: ReadonlySet<string>, isLeftAlone: (service: number) => boolean): void {
    for (const key of [...this.#started, ...this.#lapsed]) {
      if (!keys.has(key) && !isLeftAlone(readKey(key).service)) this.unmark(readKey(key));
    }
  }

  /** The highest service that has, or had since the start of this process, output here; 0: none. */
  highestService(): number {
    return this.#highestService;
  }

  /** Makes room for the first start of a key: a log under its name is from another life of the control plane. */
  clear(key: ServiceKey): void {
    rmSync(this.#path(key, 'log'), { force: true });
  }

  stateOf(containerId: string): OutputState {
    const preservation = this.#preservations.get(containerId);
    if (!preservation) return 'unknown';
    return preservation.by === 'link' || preservation.copied ? 'complete' : 'preserved';
  }

  /** Makes the output of a container that is marked as started outlive it. */
  async preserve(container: Container): Promise<void> {
    if (this.#preservations.has(container.id)) return;
    mkdirSync(this.#serviceDir(container.service), { recursive: true });
    const preservation = (await this.#preserveFile(container)) ?? this.#follow(container);
    this.#preservations.set(container.id, { ...preservation, key: keyOf(container) });
  }

  /** Brings all the output of an ended container into the store; never throws, for the same reason. */
  async finalise(container: ServiceKey & { id: string }): Promise<void> {
    const preservation = this.#preservations.get(container.id);
    if (!preservation || preservation.by === 'link' || preservation.copied) return;
    try {
      if (preservation.by === 'handle') {
        await this.#copyFile(preservation.source, this.#path(container, 'log'));
        await preservation.source.close();
      } else {
        await preservation.following;
        await this.#copyApi(container, preservation.abort.signal);
      }
    } catch (error) {
      this.#log('output.lost', { service: container.service, reason: messageOf(error) });
    }
    preservation.copied = true;
  }

  /** The container is not there any more. */
  async release(container: ServiceKey & { id: string }): Promise<void> {
    const preservation = this.#preservations.get(container.id);
    if (preservation?.by === 'handle') await this.finalise(container);
    if (preservation?.by === 'api') preservation.abort.abort();
    this.#preservations.delete(container.id);
  }

  /** More output of this key may come although its container has ended. */
  isGrowing(key: ServiceKey): boolean {
    return [...this.#preservations.values()].some(
      (preservation) => preservation.by === 'api' && preservation.key === keyOf(key) && !preservation.copied,
    );
  }

  /** Opens the output of a key, wherever it is now; undefined where there is none. */
  async open(key: ServiceKey): Promise<FileHandle | undefined> {
    const stored = await openIfThere(this.#path(key, 'log'));
    if (stored) return stored;
    for (const preservation of this.#preservations.values()) {
      if (preservation.key === keyOf(key) && preservation.by === 'handle' && !preservation.copied) {
        // A new handle of the same file, which by now may have no name any more.
        return await openIfThere(`/proc/self/fd/${preservation.source.fd}`);
      }
    }
    return undefined;
  }

  async forget(service: number): Promise<void> {
    await rm(this.#serviceDir(service), { recursive: true, force: true });
  }

  /** Removes the logs that were last written before `beforeMs`, but for those of services in use. */
  async expire(beforeMs: number, inUse: (service: number) => boolean): Promise<void> {
    for (const name of await readdir(this.#dir)) {
      const service = Number(name);
      // What else lies there is not ours.
      if (!/^\d+$/.test(name) || inUse(service)) continue;
      if ((await lastWrittenMs(`${this.#dir}/${name}`)) < beforeMs) await this.forget(service);
    }
  }

  /** Lets go of files and streams; the containers and their output stay. */
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
      await replaceByLink(file, path);
      return { by: 'link' };
    } catch {
      // Another file system, or none of ours: the next best way says why not, if that fails too.
    }
    const source = await openIfThere(file);
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
        // Somebody removed the container: there is nothing more to come.
        if (error instanceof EngineError && error.kind === 'permanent') return;
        await sleep(FOLLOW_RETRY_MS, signal);
      }
    }
  }

  #copyApi(container: ServiceKey & { id: string }, signal: AbortSignal): Promise<void> {
    const follow = (sinceNs: bigint) => this.#engine.followOutput(container.id, sinceNs, signal);
    return copyOutput(follow, this.#path(container, 'log'));
  }

  /** By the kernel: the bytes never come into this process, whose memory would grow by them for a while. */
  async #copyFile({ fd }: FileHandle, path: string): Promise<void> {
    const unfinished = `${path}.copy`;
    await copyFile(`/proc/self/fd/${fd}`, unfinished);
    await rename(unfinished, path);
  }

  #serviceDir(service: number): string {
    return `${this.#dir}/${service}`;
  }

  #path({ service, generation }: ServiceKey, extension: 'log' | 'started' | 'lapsed'): string {
    return `${this.#serviceDir(service)}/${generation}.${extension}`;
  }
}

/** A rename between two links of one file does nothing, hence the last line. */
async function replaceByLink(file: string, path: string): Promise<void> {
  const unfinished = `${path}.link`;
  await rm(unfinished, { force: true });
  await link(file, unfinished);
  await rename(unfinished, path);
  await rm(unfinished, { force: true });
}

/** Of the files in a folder the latest; of what vanishes meanwhile, or is no folder, nothing is known: now. */
async function lastWrittenMs(folder: string): Promise<number> {
  try {
    const files = await readdir(folder);
    const times = await Promise.all(files.map(async (file) => (await stat(`${folder}/${file}`)).mtimeMs));
    return Math.max(0, ...times);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

async function openIfThere(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, 'r');
  } catch {
    return undefined;
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
