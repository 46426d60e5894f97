/**
 * Decides when the engine's disk is so full that services must end, and which (P145, P146). Pure: the disk
 * guard measures and acts.
 */

import { sizeText } from '../../shared/sizes.ts';
import type { DiskUse } from '../engine/engine.ts';
import type { DiskSpace } from './disk.ts';

/** What the disk lacks. `wantedBytes`: as much should become free. */
export type Shortage =
  | { of: 'space'; freeBytes: number; wantedBytes: number }
  | { of: 'files'; free: number };

/** The time until the next look at the free space assumes that nothing writes faster, in bytes per ms. */
const FASTEST_WRITER = 2 ** 31 / 1000;
const MIN_CHECK_MS = 50;
const MAX_CHECK_MS = 1000;
/** Space below the limit counts as a shortage until this multiple of the limit is free. */
const RECOVERY_FACTOR = 1.25;
/** A file system with less than this share of its inodes free has a shortage of files. */
const MIN_FILES_SHARE = 0.005;
/** A service that holds less is never ended. */
export const MIN_BYTES = 64 * 2 ** 20;
const MIN_FILES = 10_000;
/** With more files than could be counted, and at least this many, a service counts as the one with most. */
export const UNCOUNTABLE_FILES = 100_000;
/** What remains of the output of a service that was ended. */
export const KEPT_OUTPUT_BYTES = 16 * 2 ** 20;

/** Undefined if there is enough. */
export function shortageOf(
  { freeBytes, freeInodesShare }: DiskSpace,
  minBytes: number,
): Shortage | undefined {
  if (freeBytes < minBytes)
    return { of: 'space', freeBytes, wantedBytes: minBytes * RECOVERY_FACTOR - freeBytes };
  if (freeInodesShare !== null && freeInodesShare < MIN_FILES_SHARE)
    return { of: 'files', free: freeInodesShare };
  return undefined;
}

/** When to look at the free space again: the sooner, the less is free. */
export function nextCheckMs({ freeBytes }: DiskSpace, minBytes: number): number {
  const untilLowMs = Math.floor((freeBytes - minBytes) / FASTEST_WRITER);
  return Math.min(MAX_CHECK_MS, Math.max(MIN_CHECK_MS, untilLowMs));
}

/** Space that becomes free when the service ends. */
export const freedBytes = ({ bytes, outputBytes }: DiskUse): number =>
  bytes + Math.max(0, outputBytes - KEPT_OUTPUT_BYTES);

/**
 * The services to end, the largest first, until enough becomes free. Empty if all are small. `waitedFor`:
 * bytes that become free without them.
 */
export function offendersOf<One extends { use: DiskUse }>(
  holders: readonly One[],
  shortage: Shortage,
  waitedFor = 0,
): One[] {
  const isUncountable = ({ use }: One) => !use.isComplete && (use.files ?? 0) >= UNCOUNTABLE_FILES;
  const sizeOf = ({ use }: One) => (shortage.of === 'space' ? freedBytes(use) : (use.files ?? 0));
  const minimum = shortage.of === 'space' ? MIN_BYTES : MIN_FILES;
  const large = holders
    .filter((one) => isUncountable(one) || sizeOf(one) >= minimum)
    .sort((a, b) => Number(isUncountable(b)) - Number(isUncountable(a)) || sizeOf(b) - sizeOf(a));
  const [first, ...others] = large;
  if (!first || shortage.of === 'files' || isUncountable(first)) return first ? [first] : [];
  const chosen = [first];
  let freed = waitedFor + sizeOf(first);
  for (const one of others) {
    if (freed >= shortage.wantedBytes) break;
    chosen.push(one);
    freed += sizeOf(one);
  }
  return chosen;
}

/** The reason for the user of a service that was ended. */
export function endText(
  shortage: Shortage,
  { bytes, outputBytes, files, isComplete }: DiskUse,
  isLargest: boolean,
): string {
  const rank = isLargest ? 'the most of all services' : 'among the most of all services';
  const bound = isComplete ? '' : 'more than ';
  if (shortage.of === 'files')
    return `ended by its host, whose disk had no room for more files (${(100 * shortage.free).toFixed(1)} % left): it had ${bound}${files} files, ${rank}`;
  const uncounted = isComplete ? '' : ` in more than ${files} files`;
  return `ended by its host, whose disk was nearly full (${sizeText(shortage.freeBytes)} left): it had written ${bound}${sizeText(bytes + outputBytes)}${uncounted}, ${rank}`;
}
