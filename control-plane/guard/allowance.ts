/**
 * What a host may take: a burst, and then a steady rate (P152, P240). What it has used returns with time.
 * Pure.
 */

/** Time in which a used allowance returns as a whole. */
export const RETURN_MS = 32_000;
/** A host can't use more: it may go on within a minute. */
const MAX_ALLOWANCES = 3;
/** An excess of one host is reported at most this often. */
const REPORT_PERIOD_MS = 60_000;

export class Allowance {
  readonly #maxBytes: number;
  #usedBytes = 0;
  #sinceMs: number;
  #reportedMs = Number.NEGATIVE_INFINITY;

  constructor(maxBytes: number, nowMs: number) {
    this.#maxBytes = maxBytes;
    this.#sinceMs = nowMs;
  }

  /** Counts bytes. Returns the time in ms until the host is within its allowance again. */
  use(bytes: number, nowMs: number): number {
    const returned = Math.max(0, nowMs - this.#sinceMs) * this.#returnedPerMs;
    const usedBytes = Math.max(0, this.#usedBytes - returned) + bytes;
    this.#usedBytes = Math.min(usedBytes, MAX_ALLOWANCES * this.#maxBytes);
    this.#sinceMs = nowMs;
    const excessBytes = this.#usedBytes - this.#maxBytes;
    return excessBytes <= 0 ? 0 : Math.ceil(excessBytes / this.#returnedPerMs);
  }

  /** Whether an excess is to be reported now. */
  isReportDue(nowMs: number): boolean {
    if (nowMs - this.#reportedMs < REPORT_PERIOD_MS) return false;
    this.#reportedMs = nowMs;
    return true;
  }

  get #returnedPerMs(): number {
    return this.#maxBytes / RETURN_MS;
  }
}
