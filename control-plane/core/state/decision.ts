/** The decisions of the coordinator, as data. Lifecycle applies them (state-transitions.ts). Pure. */

import type { Ending, Execution } from '../model/execution.ts';
import type { Host } from '../model/host.ts';
import type { Service } from '../model/service.ts';
import type { Placement } from '../scheduling/gang-placement.ts';

export type Decision =
  /** Reserve room for services and, where the execution was queued, take it out of the queue. */
  | { kind: 'place'; execution: Execution; placements: Placement[] }
  /** Send the start command of a placed service. */
  | { kind: 'start'; service: Service }
  | { kind: 'mark-running'; execution: Execution }
  /** Stop the container of a service, or remove it where it has ended by itself. */
  | { kind: 'stop'; service: Service }
  /** Have an elastic service give its room to an execution that is placed next; its container is stopped. */
  | { kind: 'preempt'; service: Service }
  /** Have an elastic service leave a host that is drained; its container is stopped. */
  | { kind: 'evict'; service: Service }
  /** Start a service again after its container died. */
  | { kind: 'replace-service'; service: Service; restartAtMs: number }
  /** The end is decided; containers go first. */
  | { kind: 'begin-cleanup'; execution: Execution; ending: Ending }
  /** All containers are gone. */
  | { kind: 'finish'; execution: Execution; ending: Ending }
  /** Nobody may read the logs any more: the host removes them. */
  | { kind: 'forget'; service: Service }
  | { kind: 'purge'; execution: Execution }
  | { kind: 'lose-host'; host: Host }
  /** By its lease, nothing runs any more on a lost host: what was there goes back to the queue. */
  | { kind: 'requeue-host'; host: Host };
