/** Owns how much goes on at once, and beside what: each lane lets a fixed number through and makes the rest wait in order. */
import { Lane } from '../engine/lane.ts';
import type { StepKind } from './steps.ts';

/** What may run for a service: a step, or an inspection of its containers. */
export type WorkKind = StepKind | 'inspect';

type LaneName = 'start' | 'pull' | 'stop' | 'inspect';

const LANE_OF: Record<WorkKind, LaneName> = {
  create: 'start',
  start: 'start',
  pull: 'pull',
  'preserve-output': 'inspect',
  inspect: 'inspect',
  stop: 'stop',
  remove: 'stop',
};

export class ConcurrencyLimits {
  /** Ends mostly wait for grace periods to pass, so many of them cost little. */
  readonly #lanes: Record<LaneName, Lane> = {
    start: new Lane(8),
    pull: new Lane(4),
    stop: new Lane(64),
    inspect: new Lane(16),
  };

  laneFor(kind: WorkKind): Lane {
    return this.#lanes[LANE_OF[kind]];
  }
}
