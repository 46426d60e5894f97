/**
 * Requests of hosts for secrets: a few at a time, in turns that go round the hosts, and within an allowance
 * of each host (P240). In the memory of one process or isolate.
 */
import type { FairQueue } from '../../shared/fair-queue.ts';
import { FetchCounts, type FetchOutcome } from '../core/metrics/secret-counts.ts';
import { type ErrorCode, OperationError } from '../core/model/errors.ts';
import { Allowance } from './allowance.ts';
import { fairLine } from './fair-line.ts';

/** A request takes a few MiB of memory at most, and waits for the database. */
const LIMITS = {
  total: 4,
  perOwner: 2,
  waiting: 10_000,
  waitingPerOwner: 100,
  waitMs: 10_000,
  lostMs: 120_000,
};

/** A request counts as this many bytes at least. */
const MIN_BYTES = 4_096;

/** A character of a description takes this share of the time of a byte that is decrypted and sent. */
const DESCRIPTION_SHARE = 1 / 4;

/** Counts what was read for the request. */
export type CountBytes = (read: { descriptionLength?: number; valueBytes?: number }) => void;

interface Deps {
  secretFetchBytes: number;
  nowMs: () => number;
  log: (event: string, fields: Record<string, unknown>) => void;
}

export class SecretFetches {
  readonly counts = new FetchCounts();
  readonly #line: FairQueue;
  readonly #maxBytes: number;
  readonly #nowMs: () => number;
  readonly #log: Deps['log'];
  /** By host id, for every host that has fetched something. */
  readonly #allowances = new Map<number, Allowance>();

  /** An excess is logged at most once a minute for each host. */
  constructor({ secretFetchBytes, nowMs, log }: Deps) {
    this.#line = fairLine({ whose: 'This host has', what: 'requests for secrets' }, LIMITS, nowMs);
    this.#maxBytes = secretFetchBytes;
    this.#nowMs = nowMs;
    this.#log = log;
  }

  /** Runs the request in its turn. Rejects with `too-many` while the host is beyond its allowance. */
  async run<T>(hostId: number, fetch: (count: CountBytes) => Promise<T>): Promise<T> {
    try {
      const values = await this.#line.run(() => this.#run(hostId, fetch), String(hostId));
      this.counts.count('values');
      return values;
    } catch (error) {
      this.counts.count(error instanceof OperationError ? (OUTCOMES[error.code] ?? 'failed') : 'failed');
      throw error;
    }
  }

  async #run<T>(hostId: number, fetch: (count: CountBytes) => Promise<T>): Promise<T> {
    const allowance = this.#allowanceOf(hostId);
    const waitMs = allowance.use(0, this.#nowMs());
    if (waitMs > 0) throw this.#excess(hostId, allowance, waitMs);
    let bytes = 0;
    try {
      return await fetch(({ descriptionLength = 0, valueBytes = 0 }) => {
        bytes += descriptionLength * DESCRIPTION_SHARE + valueBytes;
      });
    } finally {
      allowance.use(Math.max(MIN_BYTES, bytes), this.#nowMs());
    }
  }

  #allowanceOf(hostId: number): Allowance {
    const allowance = this.#allowances.get(hostId) ?? new Allowance(this.#maxBytes, this.#nowMs());
    this.#allowances.set(hostId, allowance);
    return allowance;
  }

  #excess(hostId: number, allowance: Allowance, waitMs: number): OperationError {
    if (allowance.isReportDue(this.#nowMs()))
      this.#log('agent.too-many-secrets', { host: hostId, limitBytes: this.#maxBytes });
    const retryAfterS = Math.ceil(waitMs / 1_000);
    return new OperationError(
      'too-many',
      `This host has fetched more secrets than BERTH_LIMITS.hostSecretBytes allows; it may go on in ${retryAfterS} s.`,
      { retryAfterS },
    );
  }
}

const OUTCOMES: Partial<Record<ErrorCode, FetchOutcome>> = {
  invalid: 'refused',
  'not-found': 'not-assigned',
  'too-many': 'excess',
};
