/**
 * Host filters: the conditions that a host must meet to take a service. Each filter has its check and its
 * explanation of a failure side by side: a new filter is one more entry of `hostFilters`. Pure.
 */
import type { ConditionKind } from '../../../shared/protocol/conditions.ts';
import type { Condition } from '../../../shared/protocol/up.ts';
import { MICRO } from '../accounts/quota.ts';
import { blockingConditionOf, blockingConditions, type Host, isReachable } from '../model/host.ts';
import type { Requirement, Resources } from '../model/resources.ts';
import { coresText, count, listText, memoryText } from '../model/text.ts';
import { EPSILON, type FreeCapacity } from './free-capacity.ts';

export const filterNames = ['schedulable', 'labels', 'secret-files', 'memory', 'cores'] as const;
export type FilterName = (typeof filterNames)[number];

export interface HostFilter {
  readonly name: FilterName;
  /** True if the filters after it examine only the hosts that pass this one. */
  readonly narrows: boolean;
  /** Whether the host passes. */
  readonly check: (free: FreeCapacity, requirement: Requirement) => boolean;
  /** Why hosts fail, and what would help. */
  readonly explain: (failure: FilterFailure) => FailureExplanation;
}

/** Hosts that fail a filter for services with the same requirement. */
export interface FilterFailure {
  readonly requirement: Requirement;
  readonly services: UnplacedServices;
  readonly failed: readonly FreeCapacity[];
  /** The hosts that the filter examined, including those that failed. */
  readonly examined: readonly FreeCapacity[];
  /** How many hosts the cluster has. */
  readonly hosts: number;
}

export interface UnplacedServices {
  /** Name of the first service. */
  readonly name: string;
  readonly instances: number;
  /** Other services of the gang that do find a host and are placed first. */
  readonly beside: number;
}

/** A sentence for people, and the facts of a filter for programs. */
export interface FailureExplanation {
  text: string;
  /** The labels that no examined host has or, if each exists on some host, all required labels. */
  labels?: readonly string[];
  /**
   * Bytes or cores that the best-fitting host lacks. This exceeds the requirement if the host has more
   * reserved than it has.
   */
  missing?: number;
  /** Bytes or cores of the largest failing host, in all. */
  largest?: number;
}

export const hostFilters: readonly HostFilter[] = [
  {
    name: 'schedulable',
    narrows: true,
    check: ({ host }) => isUsable(host),
    explain: ({ failed, examined }) => ({ text: outageText(failed, examined.length) }),
  },
  {
    name: 'labels',
    narrows: true,
    check: ({ host }, { labels }) => hasLabels(host, labels),
    explain: explainLabels,
  },
  {
    name: 'secret-files',
    narrows: true,
    check: ({ host }, requirement) => mountsFilesOf(host, requirement),
    explain: explainSecretFiles,
  },
  {
    name: 'memory',
    narrows: false,
    check: (free, { memoryBytes }) => free.memoryBytes >= memoryBytes,
    explain: (failure) => explainShortage(failure, MEMORY),
  },
  {
    name: 'cores',
    narrows: false,
    check: (free, { cores }) => free.cores + EPSILON >= cores,
    explain: (failure) => explainShortage(failure, CORES),
  },
];

export const fits = (free: FreeCapacity, requirement: Requirement): boolean =>
  hostFilters.every(({ check }) => check(free, requirement));

/** Whether the host takes new services. */
export const isUsable = (host: Host): boolean =>
  isReachable(host) && host.schedulable && !blockingConditionOf(host);

export const hasLabels = (host: Pick<Host, 'labels'>, labels: readonly string[]): boolean =>
  labels.every((label) => host.labels.includes(label));

/** Whether the host mounts the files with secrets of a service, if it has any. */
export const mountsFilesOf = (host: Host, { secretFiles }: Pick<Requirement, 'secretFiles'>): boolean =>
  !secretFiles || withoutSecretFiles(host) === undefined;

/** The condition because of which the host mounts no files with secrets. */
export const withoutSecretFiles = ({ conditions }: Pick<Host, 'conditions'>): Condition | undefined =>
  conditions.find(({ kind }) => kind === NO_SECRET_FILES);

const NO_SECRET_FILES: ConditionKind = 'no-secret-files';

/** Such as `2 of 3 hosts take no new services: 1 not connected (…), 1 drained (…).` */
function outageText(failed: readonly FreeCapacity[], examined: number): string {
  if (examined === 0) return 'The cluster has no host: start an agent on a machine to add one.';
  const reachable = failed.filter(({ host }) => isReachable(host));
  const conditions = reachable.flatMap(({ host }) =>
    host.schedulable ? (blockingConditionOf(host) ?? []) : [],
  );
  const disconnected = failed.length - reachable.length;
  const drained = reachable.length - conditions.length;
  const outages = [
    ...(disconnected > 0
      ? [`${disconnected} not connected (start ${disconnected === 1 ? 'its agent' : 'their agents'})`]
      : []),
    ...(drained > 0
      ? [`${drained} drained (an administrator can make ${drained === 1 ? 'it' : 'them'} schedulable again)`]
      : []),
    ...Array.from(
      Map.groupBy(conditions, ({ kind }) => kind),
      ([kind, [first, ...more]]) =>
        `${1 + more.length} ${blockingConditions.get(kind)} (${more.length > 0 ? 'for example: ' : ''}${first?.text})`,
    ),
  ];
  const take = failed.length === 1 ? 'takes' : 'take';
  return `${failed.length} of ${count(examined, 'host')} ${take} no new services: ${outages.join(', ')}.`;
}

function explainLabels({
  requirement,
  services,
  failed,
  examined,
  hosts,
}: FilterFailure): FailureExplanation {
  const absent = requirement.labels.filter(
    (label) => !examined.some(({ host }) => host.labels.includes(label)),
  );
  const labels = absent.length > 0 ? absent : requirement.labels;
  const isOne = labels.length === 1;
  const needs = needsText(services, `the label${isOne ? '' : 's'} ${listText(labels, 10)}`);
  const what = isOne ? 'this label' : 'all of these labels';
  const passed = examined.length - failed.length;
  const text =
    passed > 0
      ? `${needs}, but only ${passed} of ${count(examined.length, 'usable host')} ${passed === 1 ? 'has' : 'have'} ${what}.`
      : `${needs}, but no ${examined.length < hosts ? 'usable ' : ''}host has ${what}: an administrator can add ${isOne ? 'it' : 'them'} to a host, or to BERTH_AGENT_LABELS of its agent.`;
  return { labels, text };
}

function explainSecretFiles({ services, failed, examined }: FilterFailure): FailureExplanation {
  const { name, instances } = services;
  const have = instances === 1 ? `${name} has` : `${name} and ${instances - 1} more like it have`;
  const [first] = failed;
  const why = first && `${first.host.name}: ${withoutSecretFiles(first.host)?.text}`;
  const hosts = `${failed.length} of ${count(examined.length, 'usable host')} ${failed.length === 1 ? 'does' : 'do'}`;
  return {
    text: `${have} files with secrets, which ${hosts} not mount (${failed.length > 1 ? 'for example, ' : ''}${why}).`,
  };
}

/** A resource of which hosts may have too little. */
interface Dimension {
  amountOf: (resources: Resources) => number;
  /** Removes the drift of sums of fractions. */
  rounded: (amount: number) => number;
  text: (amount: number) => string;
  noun: string;
}

const MEMORY: Dimension = {
  amountOf: ({ memoryBytes }) => memoryBytes,
  rounded: (bytes) => bytes,
  text: memoryText,
  noun: ' of memory',
};

const CORES: Dimension = {
  amountOf: ({ cores }) => cores,
  rounded: (cores) => Math.round(cores * MICRO) / MICRO,
  text: coresText,
  noun: '',
};

/**
 * Such as `web0 needs 4.0 GiB of memory, but vm, the best fit of 2 hosts, has 3.0 GiB free: 1.0 GiB short.`
 */
function explainShortage(
  { requirement, services, failed }: FilterFailure,
  { amountOf, rounded, text: textOf, noun }: Dimension,
): FailureExplanation {
  const best = failed.reduce((a, b) => (amountOf(b) > amountOf(a) ? b : a));
  const needed = amountOf(requirement);
  const missing = rounded(needed - amountOf(best));
  const largest = failed.reduce((found, { host }) => Math.max(found, amountOf(host)), 0);
  const fit = failed.length === 1 ? 'the best fit' : `the best fit of ${failed.length} hosts`;
  const needs = needsText(services, `${textOf(needed)}${noun}`);
  const free = rounded(amountOf(best));
  const held = rounded(amountOf(backfillReservedOn(best.host)));
  const short = free < 0 && held > 0 ? '' : `: ${textOf(missing)} short`;
  const text = `${needs}, but ${best.host.name}, ${fit}, has ${freeText(free, held, textOf)}${besideText(services)}${short}.`;
  if (needed <= largest) return { missing, largest, text };
  const whole =
    failed.length === 1 ? `It has only ${textOf(largest)}` : `None has more than ${textOf(largest)}`;
  return { missing, largest, text: `${text} ${whole} in all: request less, or add a larger host.` };
}

/**
 * Less than nothing is free if a backfill reservation exceeds what is left, or the host has become smaller.
 * `held`: reserved for an execution that waits.
 */
function freeText(free: number, held: number, textOf: (amount: number) => string): string {
  if (held > 0 && free + held > 0)
    return free > 0
      ? `${textOf(free)} free, beyond ${HELD}`
      : `nothing free beyond ${HELD}, for which it keeps its last ${textOf(free + held)}`;
  return free < 0 ? `${textOf(-free)} more reserved than it has in all` : `${textOf(free)} free`;
}

const HELD = 'what is reserved for an execution that has waited longer';

const backfillReservedOn = (host: Host): Resources => ({
  memoryBytes: host.backfillReservedMemoryBytes,
  cores: host.backfillReservedCores,
});

const besideText = ({ beside }: UnplacedServices): string =>
  beside === 0
    ? ''
    : ` once ${count(beside, 'other service')} of the execution ${beside === 1 ? 'is' : 'are'} placed`;

function needsText({ name, instances }: UnplacedServices, what: string): string {
  if (instances === 1) return `${name} needs ${what}`;
  return `${name} and ${instances - 1} more like it need ${what} each`;
}
