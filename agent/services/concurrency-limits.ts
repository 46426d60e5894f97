/** Limits how many steps run at once. Each kind of work has a lane, which runs a fixed number of tasks. */
import { FairQueue } from '../../shared/fair-queue.ts';
import type { StepKind } from './steps.ts';

/** Work for one service: a step, or an inspection of its containers. */
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
  /** Stops mostly wait for grace periods, so many concurrent stops cost little. */
  readonly #lanes: Record<LaneName, FairQueue> = {
    start: new FairQueue({ total: 8 }),
    pull: new FairQueue({ total: 4 }),
    stop: new FairQueue({ total: 64 }),
    inspect: new FairQueue({ total: 16 }),
  };

  laneFor(kind: WorkKind): FairQueue {
    return this.#lanes[LANE_OF[kind]];
  }
}
