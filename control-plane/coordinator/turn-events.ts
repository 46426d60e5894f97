/** What a turn reports to the rest of the coordinator. */
import type { Changes } from '../core/state/changes.ts';
import type { Cluster } from '../core/state/cluster.ts';
import type { Decision } from '../core/state/decision.ts';

export interface TurnEvents {
  /**
   * After a sleep: the state was read, before the first turn. Undefined: another coordinator has taken over.
   */
  resumed(cluster: Cluster | undefined): void;
  /** The turn is committed; its decisions may be sent to the agents. */
  committed(decisions: readonly Decision[], cluster: Cluster): void;
  /** Called after `committed`, with the objects that the turn has changed. */
  changed(changes: Changes, cluster: Cluster): void;
  /** The turn that is committed has found the wall clock set by that much. Called before `committed`. */
  clockStepped(stepMs: number): void;
  /** A turn has ended, committed or not. */
  took(durationMs: number): void;
  /**
   * A standby may have taken over: a turn will confirm that none has, as soon as the database answers. Called
   * before that turn, and again with each beat until then.
   */
  doubted(): void;
  /**
   * The state was discarded, so clients may have received wrong data. Retired: there will be no other state.
   */
  lost(isRetired: boolean): void;
  /** When the next review of the history is due. Any turn from then on begins it. */
  nextReviewMs(): number;
}
