/**
 * The usage of one start of a service as lines of text, which a log stream of the format `usage` carries
 * (PROTOCOL.md P228): first the time of the start, then `TIME MEMORY CORES` of each point, oldest first.
 * Times are in ms since 1970, memory in bytes.
 */
import { MAX_CORES, MAX_MEMORY_BYTES, MAX_TIME_MS } from './bounds.ts';

export interface UsagePoint {
  timeMs: number;
  /** The highest since the point before. */
  memoryBytes: number;
  /** The average since the point before, or since the start. */
  cores: number;
}

export interface ServiceUsage {
  startedAtMs: number;
  points: UsagePoint[];
}

/** The most points of a start. */
export const MAX_USAGE_POINTS = 120;
const MAX_LINE_LENGTH = 64;
/** No longer text is read. The smallest window of a log has room for all of it (P9). */
export const MAX_USAGE_BYTES = (MAX_USAGE_POINTS + 1) * MAX_LINE_LENGTH;

export function usageLines({ startedAtMs, points }: ServiceUsage): string {
  const lines = points.map(
    ({ timeMs, memoryBytes, cores }) => `${timeMs} ${memoryBytes} ${Number(cores.toFixed(3))}\n`,
  );
  return `${startedAtMs}\n${lines.join('')}`;
}

const COUNT = /^\d{1,16}$/;
const CORES = /^\d{1,7}(\.\d{1,3})?$/;

/** Returns undefined for a text that no agent sends. */
export function readUsageLines(text: string): ServiceUsage | undefined {
  if (text.length > MAX_USAGE_BYTES) return undefined;
  const [first = '', ...rest] = text.split('\n');
  if (rest.pop() !== '' || rest.length > MAX_USAGE_POINTS || !COUNT.test(first)) return undefined;
  const points: UsagePoint[] = [];
  let lastMs = Number(first);
  for (const line of rest) {
    const [time = '', memory = '', cores = '', ...more] = line.split(' ');
    if (!COUNT.test(time) || !COUNT.test(memory) || !CORES.test(cores) || more.length > 0) return undefined;
    const point = { timeMs: Number(time), memoryBytes: Number(memory), cores: Number(cores) };
    const isPossible =
      point.timeMs > lastMs && point.memoryBytes <= MAX_MEMORY_BYTES && point.cores <= MAX_CORES;
    if (!isPossible) return undefined;
    lastMs = point.timeMs;
    points.push(point);
  }
  return lastMs <= MAX_TIME_MS ? { startedAtMs: Number(first), points } : undefined;
}
