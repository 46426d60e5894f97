/**
 * Log retention: limits the stored output of each service. The oldest output goes, and the positions of the
 * rest stay the same: the space before the first stored byte becomes a hole in the file (LOG-5).
 */
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { open, readdir, stat } from 'node:fs/promises';
import { keyOf, type ServiceKey } from '../../shared/protocol/assignment.ts';
import { type Logger, messageOf } from '../logger.ts';
import { firstRecordFrom } from './record-walk.ts';

/** Frees the first `bytes` of the file at `path`. The file keeps its size. Throws if that is impossible. */
export type PunchHole = (path: string, bytes: number) => Promise<void>;

export interface RetentionOptions {
  /** Most bytes of one service's output. */
  maxBytes: number;
  punchHole: PunchHole;
  log: Logger;
}

/** Share of the limit that remains after the oldest output has gone. More would mean to cut more often. */
const KEPT_SHARE = 7 / 8;
/** Share of the limit that the output of a service's earlier starts may take. */
const EARLIER_SHARE = 1 / 2;
/** Most earlier starts of one service whose output is stored. */
const MAX_EARLIER = 100;

export class LogRetention {
  readonly #dir: string;
  readonly #options: RetentionOptions;
  /** First stored position of each log that was cut, by key. */
  readonly #first = new Map<string, number>();
  /** How much output was before that position: a record takes more than the output in it. */
  readonly #gone = new Map<string, number>();
  /** Logs whose removed part has a record in which no line ends. */
  readonly #openRecords = new Set<string>();
  /** Logs that lack their end, because it could not be stored. */
  readonly #lost = new Set<string>();
  /** Sentences for the tops of logs. */
  readonly #remarks = new Map<string, string>();
  /** The latest start of each service whose log was removed. Those of all its earlier starts were, too. */
  readonly #removed = new Map<number, number>();
  /** Bytes of the earlier starts of each service. */
  readonly #earlier = new Map<number, number>();
  readonly #reported = new Set<string>();

  /** `paths`: all files of the logs' folder, relative to it. */
  constructor(dir: string, paths: readonly string[], options: RetentionOptions) {
    this.#dir = dir;
    this.#options = options;
    for (const path of paths) {
      const [, service = '', generation = '', kind] =
        /^(\d+)\/(?:(\d+)\.)?(first|lost|removed|remark)$/.exec(path) ?? [];
      if (kind === undefined) continue;
      if (kind === 'lost') {
        this.#lost.add(`${service}.${generation}`);
        continue;
      }
      if (kind === 'remark') {
        this.#remarks.set(`${service}.${generation}`, readFileSync(`${dir}/${path}`, 'utf8'));
        continue;
      }
      const [value = 0, gone = value, hasOpenRecords = 1] = readFileSync(`${dir}/${path}`, 'utf8')
        .split(' ')
        .map((text) => Number(text) || 0);
      if (kind === 'first') {
        this.#first.set(`${service}.${generation}`, value);
        this.#gone.set(`${service}.${generation}`, gone);
        if (hasOpenRecords !== 0) this.#openRecords.add(`${service}.${generation}`);
      } else this.#removed.set(Number(service), value);
    }
  }

  get maxBytes(): number {
    return this.#options.maxBytes;
  }

  /** Position of the first byte that is still stored. */
  firstOffset(key: ServiceKey): number {
    return this.#first.get(keyOf(key)) ?? 0;
  }

  /** The end of this log could not be stored. Never throws: the disk may refuse the note as well. */
  noteLost(key: ServiceKey): void {
    this.#lost.add(keyOf(key));
    try {
      writeFileSync(this.#path(key, 'lost'), '');
    } catch {
      // Then only this process has it.
    }
  }

  isLost(key: ServiceKey): boolean {
    return this.#lost.has(keyOf(key));
  }

  noteRemark(key: ServiceKey, text: string): void {
    if (this.#remarks.has(keyOf(key))) return;
    this.#remarks.set(keyOf(key), text);
    this.#write(this.#path(key, 'remark'), text);
  }

  remarkOf(key: ServiceKey): string | undefined {
    return this.#remarks.get(keyOf(key));
  }

  /** Whether the record before some position in the removed part may have left its line open. */
  mayCutLine(key: ServiceKey): boolean {
    return this.#openRecords.has(keyOf(key));
  }

  /** How much output so many bytes of the removed part of a log had: exact for all of it, else about. */
  outputIn(key: ServiceKey, storedBytes: number): number {
    const first = this.firstOffset(key);
    const gone = this.#gone.get(keyOf(key)) ?? first;
    return first === 0 ? storedBytes : Math.round((storedBytes / first) * gone);
  }

  /** The latest start whose log was removed for the sake of later ones. 0: none. */
  lastRemoved(service: number): number {
    return this.#removed.get(service) ?? 0;
  }

  /**
   * Removes the oldest output of a growing log at `path` once it exceeds the limit, or `maxBytes`. Never
   * throws.
   */
  async limit(key: ServiceKey, path: string, maxBytes?: number): Promise<void> {
    try {
      await this.#limit(key, path, maxBytes);
      this.#reported.delete(keyOf(key));
    } catch (error) {
      if (this.#reported.has(keyOf(key))) return;
      this.#reported.add(keyOf(key));
      this.#options.log('output.limit-failed', { service: key.service, reason: messageOf(error) });
    }
  }

  /** Removes logs of earlier starts that are beyond their share of the limit, the earliest first. */
  async limitEarlier({ service, generation }: ServiceKey): Promise<void> {
    const names = await readdir(`${this.#dir}/${service}`);
    const earlier = names
      .map((name) => Number(/^(\d+)\.log$/.exec(name)?.[1] ?? generation))
      .filter((one) => one < generation)
      .sort((a, b) => b - a);
    let bytes = 0;
    for (const [index, one] of earlier.entries()) {
      const key = { service, generation: one };
      const { size } = await stat(this.#path(key, 'log'));
      const total = bytes + Math.max(0, size - this.firstOffset(key));
      if (index >= MAX_EARLIER || total > this.maxBytes * EARLIER_SHARE) {
        this.#removeUpTo(service, earlier.slice(index));
        break;
      }
      bytes = total;
    }
    this.#earlier.set(service, bytes);
  }

  /** The log of this key begins anew, or is gone. */
  clear(key: ServiceKey): void {
    this.#gone.delete(keyOf(key));
    this.#openRecords.delete(keyOf(key));
    if (this.#remarks.delete(keyOf(key))) rmSync(this.#path(key, 'remark'), { force: true });
    if (this.#lost.delete(keyOf(key))) rmSync(this.#path(key, 'lost'), { force: true });
    if (this.#first.delete(keyOf(key))) rmSync(this.#path(key, 'first'), { force: true });
  }

  /** The service's folder is gone. */
  forget(service: number): void {
    this.#removed.delete(service);
    this.#earlier.delete(service);
    for (const keys of [this.#first, this.#gone, this.#openRecords, this.#lost, this.#remarks])
      for (const key of keys.keys()) if (key.startsWith(`${service}.`)) keys.delete(key);
  }

  async #limit(key: ServiceKey, path: string, maxBytes?: number): Promise<void> {
    const { size } = await stat(path);
    const first = this.firstOffset(key);
    // The engine truncates a file of many terabytes (LOG-2).
    if (size < first) {
      this.clear(key);
      return;
    }
    const limit = maxBytes ?? this.maxBytes - (this.#earlier.get(key.service) ?? 0);
    if (size - first <= limit) return;
    const {
      at: next,
      outputBytes,
      hasOpenRecords,
    } = await this.#recordFrom(path, first, size - Math.floor(limit * KEPT_SHARE), size);
    const gone = (this.#gone.get(keyOf(key)) ?? first) + outputBytes;
    this.#first.set(keyOf(key), next);
    this.#gone.set(keyOf(key), gone);
    if (hasOpenRecords) this.#openRecords.add(keyOf(key));
    // A full disk may refuse the note before there is a hole.
    const isNoted = this.#note(key, next, gone);
    await this.#options.punchHole(path, next);
    if (!isNoted) this.#note(key, next, gone);
  }

  /** The end of the log if it has a damaged record: nothing before the end could be read. */
  async #recordFrom(path: string, first: number, target: number, size: number) {
    const file = await open(path, 'r');
    try {
      const end = { at: size, outputBytes: size - first, hasOpenRecords: true };
      return await firstRecordFrom(file, first, target).catch(() => end);
    } finally {
      await file.close();
    }
  }

  /** Written before the space is freed: a reader must never take a hole for output. */
  #note(key: ServiceKey, first: number, gone: number): boolean {
    try {
      this.#write(this.#path(key, 'first'), `${first} ${gone} ${Number(this.mayCutLine(key))}`);
      return true;
    } catch {
      return false;
    }
  }

  #removeUpTo(service: number, generations: readonly number[]): void {
    const removed = Math.max(this.lastRemoved(service), ...generations);
    this.#write(`${this.#dir}/${service}/removed`, removed);
    this.#removed.set(service, removed);
    for (const generation of generations) {
      const key = { service, generation };
      rmSync(this.#path(key, 'log'), { force: true });
      this.clear(key);
    }
  }

  #write(path: string, value: number | string): void {
    writeFileSync(`${path}.new`, String(value));
    renameSync(`${path}.new`, path);
  }

  #path({ service, generation }: ServiceKey, extension: 'log' | 'first' | 'lost' | 'remark'): string {
    return `${this.#dir}/${service}/${generation}.${extension}`;
  }
}
