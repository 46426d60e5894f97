/** Bars that show how full a host is, with the amounts in words. */
import { coresText, count, memoryText } from '../../../core/model/text.ts';
import type { HostView, MemoryLimits } from '../../../core/views/host-view.ts';
import { type Html, html } from '../../components/html.ts';
import { coresNumber, meter } from '../../components/pieces.ts';

export const memoryMeters = ({
  memoryBytes,
  reservedMemoryBytes,
  memoryLimits,
  usage,
}: HostView): Html => html`
${meter(reservedMemoryBytes, memoryBytes, reservedText(reservedMemoryBytes, memoryBytes))}
${meter(memoryLimits.bytes, memoryBytes, limitsText(memoryLimits))}
${usage ? meter(usage.memoryBytes, memoryBytes, `${memoryText(usage.memoryBytes)} in use`) : ''}`;

/** Only a minimum of memory is reserved, and services need not have one. */
export const reservedText = (bytes: number, totalBytes: number): string =>
  `${bytes === 0 ? 'none' : memoryText(bytes)} of ${memoryText(totalBytes)} reserved`;

/** How much the services may use in all, such as `limits of 3.0 GiB in all`. */
export function limitsText({ bytes, unlimited }: MemoryLimits): string {
  const without = unlimited === 0 ? '' : `${count(unlimited, 'service')} without a limit`;
  if (bytes === 0) return without || 'no limits, since nothing runs';
  return `limits of ${memoryText(bytes)} in all${without && `, and ${without}`}`;
}

export const coreMeters = ({ cores, reservedCores, usage }: HostView): Html => html`
${meter(reservedCores, cores, `${coresNumber(reservedCores)} of ${coresText(cores)} reserved`)}
${usage ? meter(usage.cores, cores, `${coresText(usage.cores)} in use`) : ''}`;
