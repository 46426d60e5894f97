/**
 * Bounds on what users can make the control plane hold (executions that wait, and placed instances), and on
 * the ids that hosts can make it skip. Pure.
 */
import { defaultLimits, workerLimits } from '../../../shared/settings/limits.ts';

/** The names are those of BERTH_LIMITS. */
export interface Bounds {
  /** Executions that wait, of all users. */
  waiting: number;
  waitingPerUser: number;
  /** Bytes of the descriptions of a user's executions that wait, as UTF-8. */
  waitingBytesPerUser: number;
  /** Instances that are placed, of all users; one with texts of more than 1 KiB counts as more (C173). */
  placedInstances: number;
  instancesPerExecution: number;
  /** Texts of all instances of an execution, as hosts receive them. */
  textBytesPerExecution: number;
  /**
   * Instances of executions that wait in a restored database and run on hosts; each KiB of their descriptions
   * counts as one, too (SPEC.md C220).
   */
  adoptedInstances: number;
  /** Ids that are skipped without a proof, of all hosts, in the life of the database (SPEC.md C211). */
  unprovenIds: number;
  /** Idempotency keys that a user may use in 24 h. */
  idempotencyKeysPerUser: number;
  /** Rows of the audit log, and days for which they are kept; 0 days: for ever (ACC-14). */
  auditRows: number;
  auditDays: number;
}

export const MIB = 2 ** 20;

export const defaultBounds: Bounds = defaultLimits;

/** Defaults on Cloudflare. */
export const workerBounds: Bounds = workerLimits;

/**
 * A user with fewer executions waiting than this is admitted beyond `waiting`, from a reserve of a tenth of
 * `waiting` (SCHED-12).
 */
export const RESERVED_PER_USER = 100;

export const reserveOf = ({ waiting }: Bounds): number => Math.ceil(waiting / 10);
