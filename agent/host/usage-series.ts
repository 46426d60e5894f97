/**
 * Usage series: what one start of a service has used, from its start to its end, in bounded memory. When it
 * is full, each two points become one, so that the points of a long life stand further apart (P229). Pure.
 */
import { MAX_USAGE_POINTS, type ServiceUsage, type UsagePoint } from '../../shared/protocol/usage-lines.ts';

/** The time of a point at first. */
const FIRST_SPAN_MS = 30_000;
/** By so much a point may be too short: the time between two rounds is never quite exact. */
const TOLERANCE_MS = 5_000;

export class UsageSeries {
  readonly #startedAtMs: number;
  #points: UsagePoint[] = [];
  #spanMs = FIRST_SPAN_MS;

  constructor(startedAtMs: number) {
    this.#startedAtMs = startedAtMs;
  }

  get usage(): ServiceUsage {
    return { startedAtMs: this.#startedAtMs, points: [...this.#points] };
  }

  /** The last point grows until it spans its time. A sample that is already there changes nothing. */
  note({ timeMs, memoryBytes, cores }: UsagePoint): void {
    if (timeMs <= this.#startedAtMs || timeMs === this.#points.at(-1)?.timeMs) return;
    // If the clock was set back, the points of the future are dropped.
    this.#points = this.#points.filter((point) => point.timeMs < timeMs);
    const last = this.#points.at(-1);
    const sample = { timeMs, memoryBytes, cores };
    if (last && last.timeMs - this.#beginOf(this.#points.length - 1) < this.#spanMs - TOLERANCE_MS)
      this.#points.splice(-1, 1, this.#joined(this.#points.length - 1, last, sample));
    else this.#points.push(sample);
    if (this.#points.length > MAX_USAGE_POINTS) this.#thin();
  }

  #thin(): void {
    const thinner: UsagePoint[] = [];
    for (const [at, point] of this.#points.entries()) {
      const next = this.#points[at + 1];
      if (at % 2 === 0) thinner.push(next ? this.#joined(at, point, next) : point);
    }
    this.#points = thinner;
    this.#spanMs *= 2;
  }

  /** One point for the point at `at` and the one after it. */
  #joined(at: number, point: UsagePoint, next: UsagePoint): UsagePoint {
    const beginMs = this.#beginOf(at);
    const coreMs = point.cores * (point.timeMs - beginMs) + next.cores * (next.timeMs - point.timeMs);
    return {
      timeMs: next.timeMs,
      memoryBytes: Math.max(point.memoryBytes, next.memoryBytes),
      cores: coreMs / (next.timeMs - beginMs),
    };
  }

  #beginOf(at: number): number {
    return this.#points[at - 1]?.timeMs ?? this.#startedAtMs;
  }
}
