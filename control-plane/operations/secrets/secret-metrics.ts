/** Metrics of secrets: what is stored, of which the database is read once a minute at most, and fetches. */
import type { Family } from '../../core/metrics/family.ts';
import { type Limit, limitFamilies } from '../../core/metrics/limits.ts';
import { type FetchCounts, type SecretStock, stockFamilies } from '../../core/metrics/secret-counts.ts';
import { readStock } from '../../store/accounts/user-secrets.ts';
import type { Db } from '../../store/db/db.ts';

const STOCK_MS = 60_000;
/** Prometheus gives up after 10 s by default. */
const MAX_WAIT_MS = 2_000;

interface Deps {
  db: Db;
  nowMs: () => number;
  /** Secrets and files of a user (BERTH_LIMITS.secretsPerUser). */
  maxPerUser: number;
}

export class SecretMetrics {
  readonly #deps: Deps;
  readonly #counts: FetchCounts;
  #stock: SecretStock | undefined;
  #readMs = Number.NEGATIVE_INFINITY;

  constructor(deps: Deps, counts: FetchCounts) {
    this.#deps = deps;
    this.#counts = counts;
  }

  /** Without a database that answers, there are the latest figures. Never rejects. */
  async families(): Promise<Family[]> {
    const nowMs = this.#deps.nowMs();
    if (Math.abs(nowMs - this.#readMs) >= STOCK_MS) {
      this.#readMs = nowMs;
      await this.#readStock();
    }
    const stock = this.#stock;
    return [
      ...this.#counts.families(),
      ...(stock ? [...stockFamilies(stock), ...limitFamilies([this.#limitOf(stock)])] : []),
    ];
  }

  #readStock(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, MAX_WAIT_MS);
      readStock(this.#deps.db)
        .then((stock) => {
          this.#stock = stock;
        })
        .catch(() => {
          this.#readMs = Number.NEGATIVE_INFINITY;
        })
        .finally(() => {
          clearTimeout(timer);
          resolve();
        });
    });
  }

  #limitOf({ mostOfOwner: used }: SecretStock): Limit {
    const setting = 'BERTH_LIMITS.secretsPerUser';
    return { name: 'secrets_of_user', setting, used, limit: this.#deps.maxPerUser };
  }
}
