/** Placement policies: the order in which each policy prefers the hosts that fit. Pure. */
import type { PlacementPolicy } from '../model/scheduler-config.ts';
import { type FreeCapacity, freeShare } from './free-capacity.ts';

/** The score of a host; the lowest wins, of equals the one with the lowest id. */
export const placementScores: Record<PlacementPolicy, (free: FreeCapacity) => number> = {
  /** The host with the largest free share: spreads load. */
  average: (free) => -freeShare(free),
  /** The fullest host: packs load. */
  waterfill: freeShare,
  /** Does not score: the host index draws a host (`selectHost`). */
  random: () => 0,
};
