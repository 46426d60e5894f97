/**
 * CPU allocation: divides a host's cores among its services (C80). Each service gets its reservation and an
 * equal part of the cores above all reservations, up to its maximum. Pure; has no knowledge of containers.
 */
import type { Assignment } from '../../shared/protocol/assignment.ts';

/** What one service requests, in cores. */
export interface CpuClaim {
  /** The reservation. */
  min: number;
  /** Null: up to all cores of the host. */
  max: number | null;
}

/** Reservation if the description does not specify one. */
const DEFAULT_MIN = 0.1;
/** The engine's smallest CPU limit. */
const MIN_LIMIT = 0.01;
/** Limits are rounded down to whole steps, so that small differences cause no updates. */
const STEPS_PER_CORE = 100;
/** Tolerates floating-point rounding, so that 0.29 cores is 29 steps and not 28. */
const ROUNDING = 1e-6;

export const claimOf = ({ coresMin, coresMax }: Pick<Assignment, 'coresMin' | 'coresMax'>): CpuClaim => ({
  min: coresMin ?? DEFAULT_MIN,
  max: coresMax,
});

/**
 * The level: how many cores each service may use above its reservation, as far as its maximum permits. 0 if
 * the reservations take all cores, Infinity if every service can have its maximum. Cores that one service
 * cannot use are divided among the others.
 */
export function levelOf(claims: readonly CpuClaim[], cores: number): number {
  let left = cores - claims.reduce((sum, claim) => sum + floorOf(claim), 0);
  if (left <= 0) return 0;
  const headrooms = Float64Array.from(claims, headroomOf).sort();
  for (const [index, headroom] of headrooms.entries()) {
    const share = left / (headrooms.length - index);
    if (share <= headroom) return share;
    left -= headroom;
  }
  return Number.POSITIVE_INFINITY;
}

/** A claim, and the share that its service has in common with others; undefined: it has none. */
export interface SharedClaim {
  claim: CpuClaim;
  share: { cores: number } | undefined;
}

/**
 * The level of each share (C212). Services within a share together get no more than its cores, or than their
 * reservations, as long as others can use the rest. What the others cannot use goes to them all the same.
 */
export function levelsOf(
  claims: readonly SharedClaim[],
  cores: number,
): (share: SharedClaim['share']) => number {
  const groups = new Map<SharedClaim['share'], CpuClaim[]>();
  for (const { claim, share } of claims) {
    const group = groups.get(share);
    if (group) group.push(claim);
    else groups.set(share, [claim]);
  }
  const claimsIn = (share: SharedClaim['share']) => groups.get(share) ?? [];
  const full = new Set<SharedClaim['share']>();
  const levels = new Map<SharedClaim['share'], number>();
  for (;;) {
    const taken = [...full].reduce((sum, share) => sum + sumAt(claimsIn(share), levels.get(share)), 0);
    const open = claims.filter(({ share }) => !full.has(share)).map(({ claim }) => claim);
    const level = levelOf(open, cores - taken);
    const over = [...groups.keys()].filter(
      (share) => share && !full.has(share) && sumAt(claimsIn(share), level) > share.cores,
    );
    if (over.length === 0) {
      const isRest = level === Number.POSITIVE_INFINITY && full.size > 0;
      const rest = [...full].flatMap((share) =>
        claimsIn(share).map((claim) => ({ ...claim, min: amountAt(claim, levels.get(share)) })),
      );
      const beyond = isRest ? levelOf(rest, cores - sumAt(open, level)) : 0;
      return (share) => (full.has(share) ? (levels.get(share) ?? 0) + beyond : level);
    }
    for (const share of over) {
      full.add(share);
      levels.set(share, levelOf(claimsIn(share), share?.cores ?? 0));
    }
  }
}

/** What services use at most at a level. */
const sumAt = (claims: readonly CpuClaim[], level = 0): number =>
  claims.reduce((sum, claim) => sum + amountAt(claim, level), 0);

const amountAt = (claim: CpuClaim, level = 0): number => floorOf(claim) + Math.min(level, headroomOf(claim));

/** The CPU limit of a service at a level, in cores: at least its reservation, at most its maximum. */
export function limitOf(claim: CpuClaim, level: number): number {
  const floor = floorOf(claim);
  const whole = Math.floor((floor + level) * STEPS_PER_CORE + ROUNDING) / STEPS_PER_CORE;
  return Math.max(floor, Math.min(whole, claim.max ?? whole));
}

const floorOf = ({ min }: CpuClaim): number => Math.max(min, MIN_LIMIT);

const headroomOf = (claim: CpuClaim): number =>
  claim.max === null ? Number.POSITIVE_INFINITY : Math.max(0, claim.max - floorOf(claim));
