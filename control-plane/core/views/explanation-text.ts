/** Sentences that explain to people why a start waits, and what would change that. Pure. */

import type { ExceededLimit } from '../accounts/quota.ts';
import type { Execution } from '../model/execution.ts';
import { coresText, count, memoryText } from '../model/text.ts';
import { timeLimitMs } from '../model/time-limit.ts';

/** Why a cap of the user's quota prevents a start. */
export function exceededLimitText({ dimension, limit, used, wanted, over }: ExceededLimit): string {
  const less = dimension === 'memory' ? 'the limits of its services are lowered' : 'it requests less';
  const remedy =
    wanted > limit
      ? `it can start only if the quota is raised or ${less}`
      : `it starts when enough of the user's executions have ended, or when the quota is raised`;
  if (dimension === 'executions') {
    return `The user's quota allows ${count(limit, 'execution')} at a time, of which ${used} ${used === 1 ? 'is' : 'are'} in use: ${remedy}.`;
  }
  if (dimension === 'memory') {
    return `The user's quota allows ${memoryText(limit)} of memory at a time, of which the limits of running services take ${memoryText(used)}; the limits of this start, ${memoryText(wanted)}, would exceed it by ${memoryText(over)}: ${remedy}.`;
  }
  const verb = used === 1 ? 'is' : 'are';
  return `The user's quota allows ${coresText(limit)} at a time, of which ${coresText(used)} ${verb} reserved; ${coresText(wanted)} more would exceed it by ${coresText(over)}: ${remedy}.`;
}

/** Why the bound on placed instances prevents a start of that many instances. */
export function placedBoundText({ limit, used, wanted }: ExceededLimit, instances: number): string {
  const remedy =
    wanted > limit
      ? 'it can start only if an administrator raises BERTH_LIMITS.placedInstances or it requests less'
      : 'it starts when enough instances of any user have ended';
  return `This Berth runs at most ${count(limit, 'instance')} at a time, of which ${used} ${used === 1 ? 'is' : 'are'} in use; this start needs ${wanted}: ${remedy}.${wanted > instances ? ' An instance with more than 1 KiB of texts counts once for each KiB.' : ''}`;
}

/** For example `in 4 s`; `now` if the time has come. */
export const delayText = (ms: number): string => (ms <= 0 ? 'now' : `in ${Math.ceil(ms / 1_000)} s`);

/** What the time limit of an execution means for it; empty if it has none. */
export function timeLimitText(execution: Execution, nowMs: number): string {
  const { timeLimitS, ending } = execution;
  if (timeLimitS === null || ending) return '';
  const overMs = timeLimitMs(execution);
  if (overMs === null) return ` Its time limit of ${timeLimitS} s counts from its placement.`;
  return ` Its time limit of ${timeLimitS} s, counted from its placement, is over ${delayText(overMs - nowMs)}.`;
}
