/**
 * Owns how the cores of a host are shared out among its services (C80): to each its reservation and an equal part of
 * what is left above all reservations, up to its max. Pure. Never knows containers.
 */
import type { Assignment } from '../../shared/protocol/assignment.ts';

/** What a service asks for, in cores. */
export interface CpuClaim {
  /** Its reservation. */
  min: number;
  /** Null: whatever the host has. */
  max: number | null;
}

/** Reserved where the description says nothing. */
const DEFAULT_MIN = 0.1;
/** The engine takes no smaller limit. */
const MIN_LIMIT = 0.01;
/** Limits are whole steps, so that small differences change nothing. */
const STEPS_PER_CORE = 100;
/** What decimals lose in binary is no step less. */
const ROUNDING = 1e-6;

export const claimOf = ({ coresMin, coresMax }: Pick<Assignment, 'coresMin' | 'coresMax'>): CpuClaim => ({
  min: coresMin ?? DEFAULT_MIN,
  max: coresMax,
});

/**
 * What each service may use above its reservation as far as its max allows, in cores; 0 where nothing is left,
 * Infinity where all have their max. What one can't take is left to the others.
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

/** The limit of a service at that level, in cores: at least its reservation, at most its max. */
export function limitOf(claim: CpuClaim, level: number): number {
  const floor = floorOf(claim);
  const whole = Math.floor((floor + level) * STEPS_PER_CORE + ROUNDING) / STEPS_PER_CORE;
  return Math.max(floor, Math.min(whole, claim.max ?? whole));
}

const floorOf = ({ min }: CpuClaim): number => Math.max(min, MIN_LIMIT);

const headroomOf = (claim: CpuClaim): number =>
  claim.max === null ? Number.POSITIVE_INFINITY : Math.max(0, claim.max - floorOf(claim));
