/** Filter of a list of executions, independent of the words of the API and of SQL. Pure. */
import type { User } from '../accounts/account.ts';
import type { ExecutionStatus } from '../model/execution.ts';

/** Executions of a status are counted up to here. */
export const MAX_COUNT = 10_000;
/** The names of so many executions are searched for a part of a name, from the newest on. */
export const SEARCHED_NAMES = 25_000;

export const executionTimes = ['submit', 'start', 'end'] as const;
export type ExecutionTime = (typeof executionTimes)[number];

/** An execution passes if all given conditions hold. */
export interface ExecutionFilter {
  status?: ExecutionStatus;
  /** Executions that started later count as running, and have no end. */
  runningSinceMs?: number;
  name?: string;
  /** A part of the name; the case of the letters a to z is ignored. */
  nameContains?: string;
  owner?: Owner;
  /**
   * Milliseconds since the epoch, perhaps with a fraction; strict. An execution without such a time does not
   * pass.
   */
  earlierThanMs?: Partial<Record<ExecutionTime, number>>;
  /** Likewise, strictly later. */
  laterThanMs?: Partial<Record<ExecutionTime, number>>;
  /** Executions after this position in the list, newest first. Its execution need not exist any more. */
  olderThan?: Position;
  /** At most this many, those submitted last. */
  limit?: number;
}

/** Position of an execution in the list. */
export interface Position {
  timeSubmitMs: number;
  id: number;
}

/** A user by id or by name, depending on how the API variant identifies users. */
export type Owner = Pick<User, 'id'> | Pick<User, 'username'>;

export const isOwner = (owner: Owner, user: User): boolean =>
  'id' in owner ? owner.id === user.id : owner.username === user.username;
