/** Charts: a place for them, and the samples that browser/charts.ts draws there. */
import { type Html, html } from './html.ts';

/** The columns of samples. `time` is in seconds since 1970, memory in bytes. */
export const CHART_COLUMNS = [
  'time',
  'running',
  'queued',
  'memoryReserved',
  'memoryUsed',
  'memoryLimit',
  'memory',
  'coresReserved',
  'coresUsed',
  'cores',
] as const;
export type ChartColumn = (typeof CHART_COLUMNS)[number];

/**
 * Where the script draws the samples of this id. It must be outside of live parts. `reserved`: the number of
 * charts whose space is kept, so that nothing below them moves when they are drawn.
 */
export const chartPlace = (samplesId: string, reserved = 0): Html =>
  reserved === 0
    ? html`<div class="grid charts" data-charts="${samplesId}" hidden></div>`
    : html`<div class="grid charts reserved" data-charts="${samplesId}">${Array.from({ length: reserved }, () => html`<figure class="card chart" aria-hidden="true"></figure>`)}</div>`;

/** The numbers of each sample, in the order of the columns. The time comes first; null is unknown. */
export const samplesFor = (
  id: string,
  columns: readonly ['time', ...ChartColumn[]],
  samples: readonly (readonly (number | null)[])[],
): Html =>
  html`<div id="${id}" data-columns="${columns.join(' ')}" data-samples="${JSON.stringify(samples)}"></div>`;
