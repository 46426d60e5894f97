/** Bars that show how full a host is, with the amounts in words. */
import { coresText, memoryText } from '../../../core/model/text.ts';
import type { HostView } from '../../../core/views/host-view.ts';
import { type Html, html } from '../../components/html.ts';
import { coresNumber, meter } from '../../components/pieces.ts';

export const memoryMeters = ({ memoryBytes, reservedMemoryBytes, usage }: HostView): Html => html`
${meter(reservedMemoryBytes, memoryBytes, `${memoryText(reservedMemoryBytes)} of ${memoryText(memoryBytes)} reserved`)}
${usage ? meter(usage.memoryBytes, memoryBytes, `${memoryText(usage.memoryBytes)} in use`) : ''}`;

export const coreMeters = ({ cores, reservedCores, usage }: HostView): Html => html`
${meter(reservedCores, cores, `${coresNumber(reservedCores)} of ${coresText(cores)} reserved`)}
${usage ? meter(usage.cores, cores, `${coresText(usage.cores)} in use`) : ''}`;
