/** What agents have reported about the starts that they were given. */
import type { Row } from '../../../../control-plane/store/db/db.ts';
import { keyOf } from '../../../../shared/protocol/assignment.ts';
import type { Observation } from '../../../../shared/protocol/up.ts';

export class ReportedStarts {
  /** Failed starts, by `service.generation`. */
  readonly failed = new Set<string>();
  /** Starts that agents stopped because their lease expired, by `service.generation`. */
  readonly lapsed = new Set<string>();
  /** Starts whose container is gone as the control planes can know it, by host and `service.generation`. */
  readonly #gone = new Set<string>();

  sent(one: Observation): void {
    if (one.state === 'failed') this.failed.add(keyOf(one));
    if (isLapsed(one)) this.lapsed.add(keyOf(one));
  }

  arrived(hostId: number, observations: readonly Observation[]): void {
    for (const one of observations) if (one.state === 'gone') this.#gone.add(`host ${hostId}: ${keyOf(one)}`);
  }

  /** True if the host of the service has reported that its container is gone. */
  isGone({ id, generation, host_id }: Row): boolean {
    return this.#gone.has(`host ${host_id}: ${id}.${generation}`);
  }
}

export const isLapsed = (one: Observation): boolean => one.state === 'gone' && one.lapsed === true;
