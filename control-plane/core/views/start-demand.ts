/** What a start requires of hosts and of the quota, as explanations show it. Pure. */
import { MICRO } from '../accounts/quota.ts';
import type { ResourceDemand, Usage } from '../model/resources.ts';
import { coresText, memoryText } from '../model/text.ts';

export interface StartDemand {
  /** Reserved on hosts. */
  memoryBytes: number;
  /** Reserved on hosts; counts under the quota as well. */
  cores: number;
  /** What the services may use. Counts under the quota (C198). */
  limitBytes: number;
}

export const startDemandOf = ({ reserved }: ResourceDemand, usage: Usage): StartDemand => ({
  memoryBytes: reserved.memoryBytes,
  cores: usage.microCores / MICRO,
  limitBytes: usage.memoryBytes,
});

export const demandText = ({ memoryBytes, cores, limitBytes }: StartDemand): string =>
  `Its start reserves ${memoryText(memoryBytes)} of memory and ${coresText(cores)} on hosts. Its services may use ${memoryText(limitBytes)} of memory, which counts under the quota.${cores > 0 ? ' Idle cores of hosts may be used beyond the reservation; while other users want them, all services of a user together get no more than the cores of the quota.' : ''}`;
