/** Decides in which order services start, and which of them end the execution. Pure. */

/** A circle of services that depend on each other, in place of an order. */
export interface Circle {
  circle: string[];
}

/**
 * The order of each service: one more than the highest of those on which it depends. `dependencies`: of each
 * service, on others of the map.
 */
export function orderOf(dependencies: ReadonlyMap<string, readonly string[]>): Map<string, number> | Circle {
  const orders = new Map<string, number>();
  const dependents = new Map<string, string[]>();
  const missing = new Map<string, number>();
  for (const [name, needed] of dependencies) {
    missing.set(name, needed.length);
    for (const one of needed) dependents.set(one, [...(dependents.get(one) ?? []), name]);
  }
  const ready = [...dependencies.keys()].filter((name) => missing.get(name) === 0);
  for (const name of ready) {
    const needed = dependencies.get(name) ?? [];
    orders.set(name, Math.max(-1, ...needed.map((one) => orders.get(one) ?? 0)) + 1);
    for (const one of dependents.get(name) ?? []) {
      const left = (missing.get(one) ?? 0) - 1;
      missing.set(one, left);
      if (left === 0) ready.push(one);
    }
  }
  const [stuck] = [...dependencies.keys()].filter((name) => !orders.has(name));
  return stuck === undefined ? orders : { circle: circleFrom(stuck, dependencies, orders) };
}

/** Follows dependencies without an order until one comes again. */
function circleFrom(
  start: string,
  dependencies: ReadonlyMap<string, readonly string[]>,
  orders: ReadonlyMap<string, number>,
): string[] {
  const way = [start];
  for (;;) {
    const next = dependencies.get(way.at(-1) ?? '')?.find((one) => !orders.has(one)) ?? start;
    const begin = way.indexOf(next);
    if (begin >= 0) return [...way.slice(begin), next];
    way.push(next);
  }
}

export interface Candidate {
  name: string;
  /** What the file says in `x-berth`. */
  monitor?: boolean | undefined;
  /** Whether another service depends on it. */
  isNeeded: boolean;
  hasPorts: boolean;
  /** Whether it starts again when it exits. */
  restarts: boolean;
}

/**
 * The monitor services, and whether the application ends by itself. Without a word of the file these are the
 * services on which no other depends. If some of them are jobs, without ports and without restarts, only the
 * jobs are monitors, and the application ends.
 */
export function monitorsOf(services: readonly Candidate[]): { monitors: Set<string>; willEnd: boolean } {
  const isJob = ({ hasPorts, restarts }: Candidate) => !hasPorts && !restarts;
  const chosen = services.some(({ monitor }) => monitor === true)
    ? services.filter(({ monitor }) => monitor === true)
    : services.filter(({ monitor, isNeeded }) => monitor === undefined && !isNeeded);
  const isGiven = chosen.some(({ monitor }) => monitor === true);
  const jobs = chosen.filter(isJob);
  const monitors = isGiven || jobs.length === 0 ? chosen : jobs;
  return { monitors: new Set(monitors.map(({ name }) => name)), willEnd: jobs.length > 0 };
}
