/** Owns the sentences that tell people why a start waits, and what would change that. Pure. */

import type { ExceededLimit } from '../accounts/quota.ts';
import { blockingConditions } from '../model/host.ts';
import { coresText, count, listText, memoryText } from '../model/text.ts';
import type { Failure, UnplaceableService } from './placement-diagnosis.ts';

/** Why no host takes services of the same needs, as far as one filter goes. */
export function failureText(misfit: UnplaceableService, failure: Failure): string {
  switch (failure.filter) {
    case 'schedulable':
      return outageText(failure);
    case 'labels':
      return `${needsText(misfit, labelsText(failure.labels))}, ${haveText(failure)}.`;
    case 'memory': {
      const { memoryBytes } = misfit.service.requirement;
      return `${needsText(misfit, `${memoryText(memoryBytes)} of memory`)}, ${lackText(misfit, failure, memoryBytes, memoryText)}.`;
    }
    case 'cores': {
      const { cores } = misfit.service.requirement;
      return `${needsText(misfit, coresText(cores))}, ${lackText(misfit, failure, cores, coresText)}.`;
    }
  }
}

type Of<Filter extends Failure['filter']> = Extract<Failure, { filter: Filter }>;
type Amounts = Failure & { missing: number; largest: number };

function outageText({ hosts, of, disconnected, drained, blocked }: Of<'schedulable'>): string {
  if (of === 0) return 'There is no host: start an agent on one.';
  const outages = [
    ...(disconnected > 0 ? [`${disconnected} not connected (start the agent there)`] : []),
    ...(drained > 0
      ? [`${drained} drained (until an administrator takes ${drained === 1 ? 'it' : 'them'} back)`]
      : []),
    ...Array.from(blocked, ([kind, [first, ...more]]) => {
      const text = `${more.length > 0 ? 'one: ' : ''}${first?.text}`;
      return `${1 + more.length} ${blockingConditions.get(kind)} (${text})`;
    }),
  ];
  return `${hosts} of ${count(of, 'host')} ${hosts === 1 ? 'takes' : 'take'} no services now: ${outages.join(', ')}.`;
}

function needsText({ service, instances }: UnplaceableService, what: string): string {
  if (instances === 1) return `${service.name} needs ${what}`;
  return `${service.name} and ${instances - 1} more like it need ${what} each`;
}

const labelsText = (labels: readonly string[]): string =>
  `the label${labels.length === 1 ? '' : 's'} ${listText(labels, 10)}`;

function haveText({ hosts, of, labels }: Of<'labels'>): string {
  const able = of - hosts;
  const have = `which ${able} of ${count(of, 'usable host')} ${able === 1 || of === 1 ? 'has' : 'have'}`;
  const remedy = `: an administrator can add ${labels.length === 1 ? 'it' : 'them'} to one, as can its agent (BERTH_AGENT_LABELS)`;
  return `${have}${labels.length === 1 ? '' : ' together'}${able === 0 ? remedy : ''}`;
}

function lackText(
  { beside }: UnplaceableService,
  { hosts, missing, largest }: Omit<Amounts, 'filter' | 'of'>,
  needed: number,
  amountText: (amount: number) => string,
): string {
  const others = `${count(beside, 'other service')} of the execution ${beside === 1 ? 'has' : 'have'} room`;
  const left = `${count(hosts, 'host')} ${hosts === 1 ? 'has' : 'have'} left${beside > 0 ? ` once ${others}` : ''}`;
  const more = `${hosts === 1 ? '' : 'at least '}${amountText(missing)} more than ${left}`;
  if (needed <= largest) return more;
  return `${more}, and more than ${hosts === 1 ? 'it has' : 'any of them has'} in all (${amountText(largest)}): ask for less, or add a larger host`;
}

/** Why the quota of a user holds a start, for one of its caps. */
export function exceededLimitText({ dimension, limit, used, wanted, over }: ExceededLimit): string {
  const remedy =
    wanted > limit
      ? 'it can start only when the quota is raised, or when it asks for less'
      : `it starts when enough of the user's executions have ended, or when the quota is raised`;
  if (dimension === 'executions') {
    return `The user's quota allows ${count(limit, 'execution')} at a time and ${used} ${used === 1 ? 'is' : 'are'} there: ${remedy}.`;
  }
  const amountText = dimension === 'memory' ? memoryText : coresText;
  const unit = dimension === 'memory' ? `${memoryText(limit)} of memory` : coresText(limit);
  return `The user's quota allows ${unit} at a time, of which ${amountText(used)} ${used === 1 ? 'is' : 'are'} reserved; this needs ${amountText(wanted)}, ${amountText(over)} too much: ${remedy}.`;
}

/** `in 4 s`; of what is due already, `now`. */
export const delayText = (ms: number): string => (ms <= 0 ? 'now' : `in ${Math.ceil(ms / 1_000)} s`);
