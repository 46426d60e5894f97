/** Owns what a list of executions may be narrowed down by. Pure; knows neither the words of the API nor SQL. */
import type { User } from '../accounts/account.ts';
import type { ExecutionStatus } from '../model/execution.ts';

export const executionTimes = ['submit', 'start', 'end'] as const;
export type ExecutionTime = (typeof executionTimes)[number];

/** All that is given must hold. */
export interface ExecutionFilter {
  status?: ExecutionStatus;
  name?: string;
  /** In any case of the letters a to z. */
  nameContains?: string;
  owner?: Owner;
  /** Milliseconds since the epoch, perhaps with a fraction; strictly earlier. What has no such time is not earlier. */
  earlierThanMs?: Partial<Record<ExecutionTime, number>>;
  /** Likewise, strictly later. */
  laterThanMs?: Partial<Record<ExecutionTime, number>>;
  /** What comes after this one in the list, newest first; whether it is still there does not matter. */
  olderThan?: Position;
  /** At most so many: those submitted last. */
  limit?: number;
}

/** Where an execution is in the list. */
export interface Position {
  timeSubmitMs: number;
  id: number;
}

/** A user by id or by name, whichever the API calls users by. */
export type Owner = Pick<User, 'id'> | Pick<User, 'username'>;

export const isOwner = (owner: Owner, user: User): boolean =>
  'id' in owner ? owner.id === user.id : owner.username === user.username;
