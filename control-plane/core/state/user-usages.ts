/** What each user's placed executions and services use, and the weight of all of them. Pure. */
import { addUsage, noUsage, type Usage } from '../accounts/quota.ts';
import { type Execution, textWeightOf } from '../model/execution.ts';
import type { SchedulerConfig } from '../model/scheduler-config.ts';
import type { Service } from '../model/service.ts';

export class UserUsages {
  placedWeight = 0;
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
  countExecution(execution: Execution, sign: 1 | -1): void {
    this.#usageOf(execution.userId).executions += sign;
    this.placedWeight += sign * textWeightOf(execution);
  }

  /** Counts a service that is placed (1), or no longer (-1). */
  reserve(userId: number, service: Service, sign: 1 | -1): void {
    addUsage(this.#usageOf(userId), service.requirement, this.#defaultMemoryBytes, sign);
    this.placedWeight += sign * service.requirement.weight;
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
