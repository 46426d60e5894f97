/** Owns what a list of executions may be narrowed down by. Pure; knows neither the words of the API nor SQL. */
import type { User } from './account.ts';
import type { ExecutionStatus } from './execution.ts';

export const executionTimes = ['submit', 'start', 'end'] as const;
export type ExecutionTime = (typeof executionTimes)[number];

/** All that is given must hold. */
export interface ExecutionFilter {
  status?: ExecutionStatus;
  name?: string;
  owner?: Owner;
  /** Milliseconds since the epoch, perhaps with a fraction; strictly earlier. What has no such time is not earlier. */
  earlierThanMs?: Partial<Record<ExecutionTime, number>>;
  /** Likewise, strictly later. */
  laterThanMs?: Partial<Record<ExecutionTime, number>>;
  /** At most so many: those submitted last. */
  limit?: number;
}

/** A user by id or by name, whichever the API calls users by. */
export type Owner = Pick<User, 'id'> | Pick<User, 'username'>;

export const isOwner = (owner: Owner, user: User): boolean =>
  'id' in owner ? owner.id === user.id : owner.username === user.username;
