/** How long the objects on Cloudflare were awake (C233). Pure. */

/** The totals of one object, or of several together. */
export interface AwakeTotals {
  /** The beginning of the count. */
  sinceMs: number;
  /** How often it began to work after it could have slept. */
  wakes: number;
  awakeMs: number;
  /** How long it was in memory: beside the time awake, that after which the runtime lets it sleep. */
  memoryMs: number;
}

export interface AwakeSummary {
  coordinator: AwakeTotals;
  /** The sum over all gateways; null if there is none. */
  gateways: AwakeTotals | null;
}

export function sumOfTotals(all: readonly AwakeTotals[]): AwakeTotals | null {
  if (all.length === 0) return null;
  const sum = (of: (one: AwakeTotals) => number) => all.reduce((total, one) => total + of(one), 0);
  return {
    sinceMs: Math.min(...all.map(({ sinceMs }) => sinceMs)),
    wakes: sum(({ wakes }) => wakes),
    awakeMs: sum(({ awakeMs }) => awakeMs),
    memoryMs: sum(({ memoryMs }) => memoryMs),
  };
}
