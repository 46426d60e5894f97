/** Sentences that explain to people why a start waits, and what would change that. Pure. */

import type { ExceededLimit } from '../accounts/quota.ts';
import { coresText, count, memoryText } from '../model/text.ts';

/** Why a cap of the user's quota prevents a start. */
export function exceededLimitText({ dimension, limit, used, wanted, over }: ExceededLimit): string {
  const remedy =
    wanted > limit
      ? 'it can start only if the quota is raised or it requests less'
      : `it starts when enough of the user's executions have ended, or when the quota is raised`;
  if (dimension === 'executions') {
    return `The user's quota allows ${count(limit, 'execution')} at a time, of which ${used} ${used === 1 ? 'is' : 'are'} in use: ${remedy}.`;
  }
  const amountText = dimension === 'memory' ? memoryText : coresText;
  const allowed = dimension === 'memory' ? `${memoryText(limit)} of memory` : coresText(limit);
  const verb = dimension === 'memory' || used === 1 ? 'is' : 'are';
  return `The user's quota allows ${allowed} at a time, of which ${amountText(used)} ${verb} reserved; ${amountText(wanted)} more would exceed it by ${amountText(over)}: ${remedy}.`;
}

/** For example `in 4 s`; `now` if the time has come. */
export const delayText = (ms: number): string => (ms <= 0 ? 'now' : `in ${Math.ceil(ms / 1_000)} s`);
