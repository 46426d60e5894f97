/** Charts: a place for them, and the samples that browser/charts.ts draws there. */
import { type Html, html } from './html.ts';

/** The columns of samples. Memory is in bytes. */
export type ChartColumn =
  | 'running'
  | 'queued'
  | 'memoryReserved'
  | 'memoryUsed'
  | 'memoryLimit'
  | 'memory'
  | 'coresReserved'
  | 'coresUsed'
  | 'cores';

/**
 * Where the script draws the samples of this id. It must be outside of live parts. `reserved`: the number of
 * charts whose space is kept, so that nothing below them moves when they are drawn.
 */
export const chartPlace = (samplesId: string, reserved = 0): Html =>
  reserved === 0
    ? html`<div class="grid charts" data-charts="${samplesId}" hidden></div>`
    : html`<div class="grid charts reserved" data-charts="${samplesId}">${Array.from({ length: reserved }, () => html`<figure class="card chart" aria-hidden="true"></figure>`)}</div>`;

/** Null is unknown. */
export type ChartSample<Column extends ChartColumn> = { atMs: number } & Record<Column, number | null>;

/** The numbers of each sample, after its time in seconds since 1970. */
export function samplesFor<Column extends ChartColumn>(
  id: string,
  columns: readonly Column[],
  samples: readonly ChartSample<Column>[],
): Html {
  const rows = samples.map((one) => [Math.round(one.atMs / 1_000), ...columns.map((column) => one[column])]);
  return html`<div id="${id}" data-columns="${['time', ...columns].join(' ')}" data-samples="${JSON.stringify(rows)}"></div>`;
}
