/** Decisions of the coordinator, as data. lifecycle/state-transitions.ts applies them. Pure. */

import type { Ending, Execution } from '../model/execution.ts';
import type { Host } from '../model/host.ts';
import type { Service } from '../model/service.ts';
import type { Placement } from '../scheduling/gang-placement.ts';

export type Decision =
  /** Reserve capacity for services. A queued execution leaves the queue. */
  | { kind: 'place'; execution: Execution; placements: Placement<Service>[] }
  /** Send the start command of a placed service. */
  | { kind: 'start'; service: Service }
  | { kind: 'mark-running'; execution: Execution }
  /** Stop the container of a service, or remove it if it has ended by itself. */
  | { kind: 'stop'; service: Service }
  /**
   * Release the reservation of an elastic service for an execution that is placed next; its container is
   * stopped.
   */
  | { kind: 'preempt'; service: Service }
  /** Release the reservation of an elastic service on a drained host; its container is stopped. */
  | { kind: 'evict'; service: Service }
  /** Start a service again after its container died. */
  | { kind: 'replace-service'; service: Service; restartAtMs: number }
  /** The end is decided, by the end of `cause` if there is one; the containers are removed first. */
  | { kind: 'begin-cleanup'; execution: Execution; ending: Ending; cause?: Service }
  /** All containers are gone. */
  | { kind: 'finish'; execution: Execution; ending: Ending }
  /** No user may read the logs any more: the host removes them. */
  | { kind: 'forget'; service: Service }
  | { kind: 'purge'; execution: Execution }
  | { kind: 'lose-host'; host: Host }
  /**
   * The lease of a lost host has expired, so nothing runs there any more: its executions return to the queue.
   */
  | { kind: 'requeue-host'; host: Host };
