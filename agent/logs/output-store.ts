/**
 * Output store: the output of services in `<dir>/<service>/<generation>.log`, beside marks for started keys
 * and for keys that the agent gave up.
 *
 * The engine's own file is the store while its container exists. If possible, the log is a hard link to that
 * file. If the file is on another file system, it is held open, and copied when its container has ended. If
 * the engine's files cannot be read, the log API is copied continuously. All three have the same bytes at the
 * same positions. Never changes or removes a file of the engine.
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
    if (this.#started.delete(keyOf(key))) rmSync(this.#path(key, 'started'), { force: true });
  }

  /** Removes the marks of all keys except these and those of services that are left alone. */
  retainMarks(keys: ReadonlySet<string>, isLeftAlone: (service: number) => boolean): void {
    for (const key of [...this.#started, ...this.#lapsed]) {
      if (!keys.has(key) && !isLeftAlone(readKey(key).service)) this.unmark(readKey(key));
    }
  }

  /** The highest service that has, or had since the start of this process, output here. 0: none. */
  highestService(): number {
    return this.#highestService;
  }

  /** Removes a log of the same name before a key's first start: it belongs to an earlier database. */
  clear(key: ServiceKey): void {
    rmSync(this.#path(key, 'log'), { force: true });
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
    const preservation = (await this.#preserveFile(container)) ?? this.#follow(container);
    this.#preservations.set(container.id, { ...preservation, key: keyOf(container) });
  }

  /** Completes the stored output of an ended container. Never throws, so that its removal can follow. */
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

  /** The container no longer exists. */
  async release(container: ServiceKey & { id: string }): Promise<void> {
    const preservation = this.#preservations.get(container.id);
    if (preservation?.by === 'handle') await this.finalise(container);
    if (preservation?.by === 'api') preservation.abort.abort();
    this.#preservations.delete(container.id);
  }

  /** Whether more output of this key may arrive although its container has ended. */
  isGrowing(key: ServiceKey): boolean {
    return [...this.#preservations.values()].some(
      (preservation) => preservation.by === 'api' && preservation.key === keyOf(key) && !preservation.copied,
    );
  }

  /** Opens the output of a key, wherever it is. Undefined if there is none. */
  async open(key: ServiceKey): Promise<FileHandle | undefined> {
    const stored = await openIfThere(this.#path(key, 'log'));
    if (stored) return stored;
    for (const preservation of this.#preservations.values()) {
      if (preservation.key === keyOf(key) && preservation.by === 'handle' && !preservation.copied) {
        // A new handle of the same file, whose name may be gone by now.
        return await openIfThere(`/proc/self/fd/${preservation.source.fd}`);
      }
    }
    return undefined;
  }

  async forget(service: number): Promise<void> {
    await rm(this.#serviceDir(service), { recursive: true, force: true });
  }

  /** Removes logs last written before `beforeMs`, except those of services in use. */
  async expire(beforeMs: number, inUse: (service: number) => boolean): Promise<void> {
    for (const name of await readdir(this.#dir)) {
      const service = Number(name);
      // Other files in the folder are not Berth's.
      if (!/^\d+$/.test(name) || inUse(service)) continue;
      if ((await lastWrittenMs(`${this.#dir}/${name}`)) < beforeMs) await this.forget(service);
    }
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
      await replaceByLink(file, path);
      return { by: 'link' };
    } catch {
      // On another file system, or not accessible. The next method logs its own failure.
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
        // A person removed the container: no more output will arrive.
        if (error instanceof EngineError && error.kind === 'permanent') return;
        await sleep(FOLLOW_RETRY_MS, signal);
      }
    }
  }

  #copyApi(container: ServiceKey & { id: string }, signal: AbortSignal): Promise<void> {
    const follow = (sinceNs: bigint) => this.#engine.followOutput(container.id, sinceNs, signal);
    return copyOutput(follow, this.#path(container, 'log'));
  }

  /** The kernel copies: the bytes never enter this process, whose memory would grow by them for a while. */
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

/**
 * Time of the latest file in a folder. Infinity, which counts as just now, if the folder vanishes meanwhile
 * or is not a folder.
 */
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
