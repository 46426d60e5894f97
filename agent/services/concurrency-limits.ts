/** Owns how much goes on at once, and beside what: each lane lets a fixed number through and makes the rest wait in order. */
import { Lane } from '../engine/lane.ts';
import type { StepKind } from './steps.ts';

type LaneName = 'begin' | 'pull' | 'end' | 'look';

const LANE_OF: Record<StepKind | 'look', LaneName> = {
  create: 'begin',
  start: 'begin',
  pull: 'pull',
  'preserve-output': 'look',
  look: 'look',
  stop: 'end',
  remove: 'end',
};

export class ConcurrencyLimits {
  /** Ends mostly wait for grace periods to pass, so many of them cost little. */
  readonly #lanes: Record<LaneName, Lane> = {
    begin: new Lane(8),
    pull: new Lane(4),
    end: new Lane(64),
    look: new Lane(16),
  };

  of(kind: StepKind | 'look'): Lane {
    return this.#lanes[LANE_OF[kind]];
  }
}
