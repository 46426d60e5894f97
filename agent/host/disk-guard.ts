/**
 * Disk guard: removes unused images, and then ends the services that hold most of the engine's disk, before
 * it is full (P145, P184). It looks at the free space all the time, and measures services only during a
 * shortage. No start or stop waits for it.
 */

import { FairQueue } from '../../shared/fair-queue.ts';
import type { Container, DiskUse, Engine } from '../engine/engine.ts';
import { type Logger, messageOf } from '../logger.ts';
import { sleep } from '../sleep.ts';
import type { DiskProbe, DiskSpace } from './disk.ts';
import {
  endText,
  freedBytes,
  nextCheckMs,
  offendersOf,
  type Shortage,
  shortageOf,
} from './disk-offenders.ts';

export interface DiskGuardOptions {
  /** A folder on the engine's disk. */
  folder: string;
  /** Less free space is a shortage. 0: nothing is ever ended. */
  minBytes: number;
  probe: DiskProbe;
  engine: Pick<Engine, 'diskUse'>;
  /** The services that may be ended. */
  running(): readonly Container[];
  /** Whether a container is still there, running or not. */
  isThere(containerId: string): boolean;
  /** Removes an image that nobody uses. False if there is none. */
  removeImage(): Promise<boolean>;
  /** Ends a service at once, and removes what it holds. */
  end(container: Container, reason: string): Promise<void>;
  log: Logger;
  /** A clock that is never set. */
  nowMs(): number;
}

/** Services that were ended, until the free space shows it. */
interface Ended {
  containerIds: readonly string[];
  /** They held as much. */
  freedBytes: number;
  /** As much should be free then. */
  expectedBytes: number;
  /** With less free space others are writing, too. */
  fallenBytes: number;
  sinceMs: number;
  goneMs: number | undefined;
}

interface Holder {
  container: Container;
  use: DiskUse;
}

const MAX_CONCURRENT = 4;
const MEASURE_LIMIT_MS = 5000;
/** A container that the engine does not remove within this time does not keep others from being ended. */
const REMOVAL_LIMIT_MS = 30_000;
/** File systems may take this long to show what was freed. */
const SETTLE_MS = 5000;
/** When only this share of the free space is left, others are writing, too. */
const FALLEN_SHARE = 0.75;
/** The engine has this long to remove images. A service that fills the disk must not outrun it. */
const IMAGES_LIMIT_MS = 2000;
/** After a round that found no service to end, the next one comes after this time or this much less space. */
const REPEAT_MS = 10_000;
const REPEAT_BYTES = 64 * 2 ** 20;

/** Returns a function that ends the guard. */
export function startDiskGuard(options: DiskGuardOptions): () => void {
  if (options.minBytes === 0) return () => {};
  const guard = new DiskGuard(options);
  let ended = false;
  let timer: NodeJS.Timeout;
  const check = async () => {
    const delayMs = await guard.check();
    if (!ended) timer = setTimeout(() => void check(), delayMs);
  };
  void check();
  return () => {
    ended = true;
    clearTimeout(timer);
  };
}

export class DiskGuard {
  readonly #options: DiskGuardOptions;
  #ended: Ended | undefined;
  /** The last round that found no service to end. */
  #vain: { atMs: number; freeBytes: number } | undefined;
  #isReported = false;

  constructor(options: DiskGuardOptions) {
    this.#options = options;
  }

  /** Looks once, and ends what must end. Returns the pause until the next look. Never rejects. */
  async check(): Promise<number> {
    const { probe, folder, minBytes } = this.#options;
    const space = await probe(folder);
    if (!space) return nextCheckMs({ freeBytes: Number.POSITIVE_INFINITY, freeInodesShare: null }, minBytes);
    if (!shortageOf(space, minBytes)) {
      this.#ended = undefined;
      this.#vain = undefined;
      this.#isReported = false;
    } else if (!this.#mustWait(space)) await this.#round(space);
    return nextCheckMs(space, minBytes);
  }

  /** True while the space that an earlier end frees is not there yet, or nothing new can be found. */
  #mustWait({ freeBytes }: DiskSpace): boolean {
    const { isThere, nowMs } = this.#options;
    const now = nowMs();
    const ended = this.#ended;
    if (ended && freeBytes >= ended.fallenBytes) {
      const isGone = !ended.containerIds.some(isThere);
      if (isGone) ended.goneMs ??= now;
      if (!isGone && now - ended.sinceMs < REMOVAL_LIMIT_MS) return true;
      if (ended.goneMs !== undefined && freeBytes < ended.expectedBytes && now - ended.goneMs < SETTLE_MS)
        return true;
      this.#ended = undefined;
    }
    const vain = this.#vain;
    return vain !== undefined && now - vain.atMs < REPEAT_MS && freeBytes > vain.freeBytes - REPEAT_BYTES;
  }

  async #round(before: DiskSpace): Promise<void> {
    const { probe, folder, minBytes, log, nowMs } = this.#options;
    if (await this.#removeImages(before)) return;
    const holders = await this.#measure();
    // Measuring takes a while.
    const space = (await probe(folder)) ?? before;
    const shortage = shortageOf(space, minBytes);
    if (!shortage) return;
    const waitedFor = this.#ended;
    const offenders = offendersOf(holders, shortage, waitedFor?.freedBytes);
    if (offenders.length === 0) {
      this.#vain = { atMs: nowMs(), freeBytes: space.freeBytes };
      if (!this.#isReported) log('disk.nothing-to-end', { folder, free: space.freeBytes });
      this.#isReported = true;
      return;
    }
    const freed = offenders.reduce((total, { use }) => total + freedBytes(use), waitedFor?.freedBytes ?? 0);
    const ended = {
      containerIds: [...(waitedFor?.containerIds ?? []), ...offenders.map(({ container }) => container.id)],
      freedBytes: freed,
      expectedBytes: space.freeBytes + freed / 2,
      fallenBytes: 0,
      sinceMs: nowMs(),
      goneMs: undefined,
    };
    this.#ended = ended;
    const ends = offenders.map((offender, index) => this.#end(offender, shortage, index === 0));
    if ((await Promise.all(ends)).includes(false)) return;
    const { freeBytes } = (await probe(folder)) ?? space;
    ended.fallenBytes = FALLEN_SHARE * freeBytes;
  }

  /**
   * Removes unused images; true once enough is free. Services may write meanwhile: it stops once a quarter of
   * the free space is gone, or if the engine is slow.
   */
  async #removeImages({ freeBytes }: DiskSpace): Promise<boolean> {
    const { probe, folder, minBytes, removeImage } = this.#options;
    const ended = new AbortController();
    const late = sleep(IMAGES_LIMIT_MS, ended.signal).then(() => false);
    let isEnough = false;
    while (!isEnough && (await Promise.race([late, removeImage()]))) {
      const space = await probe(folder);
      if (!space || space.freeBytes < FALLEN_SHARE * freeBytes) break;
      isEnough = !shortageOf(space, minBytes);
    }
    ended.abort();
    return isEnough;
  }

  /** Measures all services that may be ended. Those that the engine does not measure in time are left out. */
  async #measure(): Promise<Holder[]> {
    const { engine, running, log } = this.#options;
    const waitedFor = new Set(this.#ended?.containerIds);
    const containers = running().filter(({ id }) => !waitedFor.has(id));
    const lane = new FairQueue({ total: MAX_CONCURRENT });
    const failures: unknown[] = [];
    const holders = await Promise.all(
      containers.map(async (container): Promise<Holder[]> => {
        try {
          const use = await lane.run(() => engine.diskUse(container.id, MEASURE_LIMIT_MS));
          return use ? [{ container, use }] : [];
        } catch (error) {
          failures.push(error);
          return [];
        }
      }),
    );
    if (failures.length > 0)
      log('disk.measure-failed', { containers: failures.length, reason: messageOf(failures[0]) });
    return holders.flat();
  }

  /** False if it could not be killed, so that it may still write. */
  async #end({ container, use }: Holder, shortage: Shortage, isLargest: boolean): Promise<boolean> {
    const { end, log } = this.#options;
    const { service, generation } = container;
    const reason = endText(shortage, use, isLargest);
    log('service.ended-for-disk', { service, generation, bytes: use.bytes + use.outputBytes, reason });
    try {
      await end(container, reason);
      return true;
    } catch (error) {
      log('disk.end-failed', { service, reason: messageOf(error) });
      return false;
    }
  }
}
