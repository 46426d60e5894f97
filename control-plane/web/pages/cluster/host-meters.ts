/** Owns how full a host is, as bars with words. */
import type { HostView } from '../../../core/views/host-view.ts';
import { type Html, html } from '../../components/html.ts';
import { bytes, meter } from '../../components/pieces.ts';

export const memoryMeters = ({ memoryBytes, reservedMemoryBytes, usage }: HostView): Html => html`
${meter(reservedMemoryBytes, memoryBytes, `${bytes(reservedMemoryBytes)} of ${bytes(memoryBytes)} reserved`)}
${usage ? meter(usage.memoryBytes, memoryBytes, `${bytes(usage.memoryBytes)} in use`) : ''}`;

export const coreMeters = ({ cores: all, reservedCores, usage }: HostView): Html => html`
${meter(reservedCores, all, `${cores(reservedCores)} of ${cores(all)} reserved`)}
${usage ? meter(usage.cores, all, `${cores(usage.cores)} in use`) : ''}`;

/** In hundredths. */
export const cores = (count: number): number => Number(count.toFixed(2));
