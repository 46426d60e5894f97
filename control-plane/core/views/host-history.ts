/**
 * The history of each host for charts: samples of the last hour, taken when turns run. Their number is
 * bounded: with many hosts they stand further apart. Pure.
 */
import { type Host, isReachable } from '../model/host.ts';
import { HISTORY_MS, SAMPLE_MS, type SavedSample } from './history.ts';

/** A host at one moment. Memory in bytes. */
export interface HostSample {
  atMs: number;
  reservedMemoryBytes: number;
  /** Null if its agent does not report it. */
  usedMemoryBytes: number | null;
  reservedCores: number;
  usedCores: number | null;
}

/**
 * The most of all hosts together, some 24 bytes each. More than 1,000 hosts have fewer than 120 samples each.
 */
const MAX_SAMPLES = 120_000;
/** Numbers of a sample: reserved and used memory, reserved and used cores. NaN is unknown. */
const NUMBERS = 4;

/** All hosts at one moment. */
interface Frame {
  atMs: number;
  /** Ascending. */
  ids: Float64Array;
  numbers: Float32Array;
}

export class HostHistory {
  #frames: Frame[] = [];

  /** Callers may call this often; it takes at most one sample of each host in 30 s. */
  note(hosts: ReadonlyMap<number, Host>, nowMs: number): void {
    const last = this.#frames.at(-1);
    if (last && nowMs >= last.atMs && nowMs < last.atMs + periodMs(hosts.size)) return;
    // If the clock was set back, samples of the future are dropped.
    this.#frames = this.#frames.filter(({ atMs }) => atMs < nowMs && atMs >= nowMs - HISTORY_MS);
    this.#frames.push(frameOf(hosts, nowMs));
    let total = this.#frames.reduce((sum, { ids }) => sum + ids.length, 0);
    while (total > MAX_SAMPLES && this.#frames.length > 1) total -= this.#frames.shift()?.ids.length ?? 0;
  }

  clockStepped(stepMs: number): void {
    for (const frame of this.#frames) frame.atMs += stepMs;
  }

  /** What was sampled after `atMs`. */
  since(atMs: number): SavedSample[] {
    return this.#frames
      .filter((frame) => frame.atMs > atMs)
      .map(({ atMs, ids, numbers }) => ({
        kind: 'hosts',
        atMs,
        content: JSON.stringify([Array.from(ids), Array.from(numbers, shortened)]),
      }));
  }

  /** Puts what is older than its own samples before them. */
  restore(saved: readonly SavedSample[]): void {
    const firstMs = this.#frames[0]?.atMs ?? Number.POSITIVE_INFINITY;
    const earlier = saved.filter(({ kind, atMs }) => kind === 'hosts' && atMs < firstMs);
    this.#frames.unshift(
      ...earlier.map(({ atMs, content }) => {
        const [ids, numbers]: [number[], (number | null)[]] = JSON.parse(content);
        return {
          atMs,
          ids: Float64Array.from(ids),
          numbers: Float32Array.from(numbers, (value) => value ?? Number.NaN),
        };
      }),
    );
  }

  /** The samples of the last hour, oldest first, and one of now. */
  samples(host: Host, nowMs: number): HostSample[] {
    const earlier = this.#frames.flatMap((frame) =>
      frame.atMs < nowMs && frame.atMs >= nowMs - HISTORY_MS ? sampleIn(frame, host.id) : [],
    );
    return [...earlier, ...sampleIn(frameOf(new Map([[host.id, host]]), nowMs), host.id)];
  }
}

const periodMs = (hosts: number): number =>
  SAMPLE_MS * Math.max(1, Math.ceil((hosts * HISTORY_MS) / SAMPLE_MS / MAX_SAMPLES));

function frameOf(hosts: ReadonlyMap<number, Host>, atMs: number): Frame {
  const ids = Float64Array.from(hosts.keys()).sort();
  const numbers = new Float32Array(ids.length * NUMBERS);
  for (const [at, id] of ids.entries()) {
    const host = hosts.get(id);
    if (!host) continue;
    const usage = isReachable(host) ? host.usage : null;
    const of = [
      host.reservedMemoryBytes,
      usage?.memoryBytes ?? Number.NaN,
      host.reservedCores,
      usage?.cores ?? Number.NaN,
    ];
    numbers.set(of, at * NUMBERS);
  }
  return { atMs, ids, numbers };
}

function sampleIn({ atMs, ids, numbers }: Frame, id: number): HostSample[] {
  const at = indexIn(ids, id);
  if (at === undefined) return [];
  const [reservedMemoryBytes = 0, usedMemory = 0, reservedCores = 0, usedCores = 0] = numbers.subarray(
    at * NUMBERS,
    (at + 1) * NUMBERS,
  );
  return [
    {
      atMs,
      reservedMemoryBytes,
      usedMemoryBytes: known(usedMemory),
      reservedCores: rounded(reservedCores),
      usedCores: Number.isNaN(usedCores) ? null : rounded(usedCores),
    },
  ];
}

/** With the digits that a number of 24 bits has. JSON has null for NaN. */
const shortened = (value: number): number => Number(value.toPrecision(9));

const known = (value: number): number | null => (Number.isNaN(value) ? null : value);

/** Sums of fractions drift, and these have 24 bits. */
const rounded = (cores: number): number => Math.round(cores * 1_000) / 1_000;

function indexIn(ids: Float64Array, id: number): number | undefined {
  let [low, high] = [0, ids.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((ids[middle] ?? 0) < id) low = middle + 1;
    else high = middle;
  }
  return ids[low] === id ? low : undefined;
}
