/** What each user's placed executions and services use, and how many services are placed in all. Pure. */
import { addUsage, noUsage, type Usage } from '../accounts/quota.ts';
import type { SchedulerConfig } from '../model/scheduler-config.ts';
import type { Service } from '../model/service.ts';

export class UserUsages {
  placedCount = 0;
  elasticCount = 0;
  /** Only of users with an execution that was placed at some time. */
  readonly #usages = new Map<number, Usage>();
  readonly #elasticOf = new Map<number, Set<Service>>();
  readonly #placedOf = new Map<number, number>();
  readonly #defaultMemoryBytes: number;

  constructor({ defaultMemoryBytes }: SchedulerConfig) {
    this.#defaultMemoryBytes = defaultMemoryBytes;
  }

  of(userId: number): Readonly<Usage> {
    return this.#usages.get(userId) ?? noUsage();
  }

  /** How many services of the user are placed. */
  placedOf(userId: number): number {
    return this.#placedOf.get(userId) ?? 0;
  }

  /** Placed elastic services of the user. */
  elasticOf(userId: number): ReadonlySet<Service> {
    return this.#elasticOf.get(userId) ?? new Set();
  }

  /** Counts an execution that is placed (1), or no longer (-1). */
  countExecution(userId: number, sign: 1 | -1): void {
    this.#usageOf(userId).executions += sign;
  }

  /** Counts a service that is placed (1), or no longer (-1). */
  reserve(userId: number, service: Service, sign: 1 | -1): void {
    addUsage(this.#usageOf(userId), service.requirement, this.#defaultMemoryBytes, sign);
    this.placedCount += sign;
    this.#placedOf.set(userId, this.placedOf(userId) + sign);
    if (service.essential) return;
    this.elasticCount += sign;
    const elastic = this.#elasticOf.get(userId) ?? new Set();
    if (sign === 1) this.#elasticOf.set(userId, elastic.add(service));
    else elastic.delete(service);
  }

  #usageOf(userId: number): Usage {
    const usage = this.#usages.get(userId) ?? noUsage();
    this.#usages.set(userId, usage);
    return usage;
  }
}
