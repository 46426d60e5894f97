/**
 * Draws the charts of the cluster page from the samples in the page. A table on the page has the same numbers
 * as text.
 */
import uPlot from 'uplot';
import { coresText, memoryText } from '../../core/model/text.ts';

/** The order of the numbers of a sample (pages/cluster/cluster-history.ts). */
const COLUMNS = [
  'time',
  'running',
  'queued',
  'memoryReserved',
  'memoryUsed',
  'memory',
  'coresReserved',
  'coresUsed',
  'cores',
] as const;
type Column = (typeof COLUMNS)[number];

interface Line {
  column: Column;
  label: string;
  /** A colour variable of styles/base.css, with six digits. */
  colour: string;
  /** Fills the area below the line. */
  filled?: boolean;
  dashed?: boolean;
}

interface Chart {
  title: string;
  lines: readonly Line[];
  /** Counts whole things. */
  whole?: boolean;
  /** The page's number for 1 on the axis; 1 by default. */
  unit?: number;
  /** A value in words, from the page's number. */
  valueText: (value: number) => string;
}

const GIB = 2 ** 30;
const HOUR_S = 3_600;
/** Shortest time that the charts span, even before there are samples for all of it. */
const MIN_SPAN_S = 600;
/** Distances between grid lines: 1, 2, 5, 10 and so on. */
const WHOLE_STEPS = Array.from({ length: 10 }, (_, power) => [1, 2, 5].map((n) => n * 10 ** power)).flat();

const CHARTS: readonly Chart[] = [
  {
    title: 'Executions',
    lines: [
      { column: 'running', label: 'running', colour: '--good', filled: true },
      { column: 'queued', label: 'queued', colour: '--busy' },
    ],
    whole: true,
    valueText: String,
  },
  {
    title: 'Memory (GiB)',
    lines: [
      { column: 'memoryReserved', label: 'reserved', colour: '--accent', filled: true },
      { column: 'memoryUsed', label: 'in use', colour: '--good' },
      { column: 'memory', label: 'total', colour: '--quiet', dashed: true },
    ],
    unit: GIB,
    valueText: memoryText,
  },
  {
    title: 'Cores',
    lines: [
      { column: 'coresReserved', label: 'reserved', colour: '--accent', filled: true },
      { column: 'coresUsed', label: 'in use', colour: '--good' },
      { column: 'cores', label: 'total', colour: '--quiet', dashed: true },
    ],
    valueText: coresText,
  },
];
const HEIGHT = 190;

type Numbers = (number | null)[];

/** The samples by column, as uPlot requires them. */
function samplesOf(): Record<Column, Numbers> {
  const text = document.getElementById('samples')?.dataset.samples ?? '[]';
  const samples = JSON.parse(text) as Numbers[];
  const columns = COLUMNS.map((name, at) => [name, samples.map((one) => one[at] ?? null)]);
  return Object.fromEntries(columns) as Record<Column, Numbers>;
}

function dataOf({ lines, unit = 1 }: Chart, samples: Record<Column, Numbers>): uPlot.AlignedData {
  const scaled = lines.map(({ column }) => samples[column].map((value) => value && value / unit));
  return [samples.time, ...scaled] as uPlot.AlignedData;
}

const axisText = (value: number): string => String(Number(value.toPrecision(3)));

const colour = (name: string): string =>
  getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function optionsOf({ lines, whole, unit = 1, valueText }: Chart, width: number): uPlot.Options {
  const axis: uPlot.Axis = {
    stroke: colour('--quiet'),
    grid: { stroke: colour('--line'), width: 1 },
    ticks: { stroke: colour('--line'), width: 1 },
  };
  return {
    width,
    height: HEIGHT,
    cursor: { drag: { x: false, y: false } },
    scales: {
      x: { range: (_, first, last) => [Math.max(last - HOUR_S, Math.min(first, last - MIN_SPAN_S)), last] },
      y: { range: (_, __, max) => [0, Math.max(1, max * 1.1)] },
    },
    axes: [
      { ...axis, values: [[1, '{HH}:{mm}', null, null, null, null, null, null, 0]], space: 60 },
      {
        ...axis,
        size: 44,
        values: (_, splits) => splits.map(axisText),
        ...(whole ? { incrs: WHOLE_STEPS } : {}),
      },
    ],
    series: [
      { label: '', value: (_, atS) => (atS === null ? '' : new Date(atS * 1_000).toLocaleTimeString()) },
      ...lines.map(
        ({ label, colour: name, filled, dashed }): uPlot.Series => ({
          label,
          stroke: colour(name),
          width: 2,
          points: { show: false },
          // The value at the pointer; empty without a pointer.
          value: (_, value, __, at) =>
            at === null ? '' : value === null ? 'unknown' : valueText(value * unit),
          ...(filled ? { fill: `${colour(name)}26` } : {}),
          ...(dashed ? { dash: [6, 4], width: 1 } : {}),
        }),
      ),
    ],
  };
}

class Drawing {
  readonly #chart: Chart;
  readonly #place = document.createElement('div');
  #plot: uPlot | undefined;

  constructor(chart: Chart, parent: HTMLElement) {
    this.#chart = chart;
    const figure = document.createElement('figure');
    figure.className = 'card chart';
    const caption = document.createElement('figcaption');
    caption.textContent = chart.title;
    // The table has the same numbers for screen readers.
    this.#place.setAttribute('aria-hidden', 'true');
    figure.append(caption, this.#place);
    parent.append(figure);
    new ResizeObserver(() => this.#fit()).observe(this.#place);
  }

  draw(samples: Record<Column, Numbers>): void {
    this.#plot?.destroy();
    this.#plot = new uPlot(
      optionsOf(this.#chart, this.#place.clientWidth),
      dataOf(this.#chart, samples),
      this.#place,
    );
  }

  update(samples: Record<Column, Numbers>): void {
    this.#plot?.setData(dataOf(this.#chart, samples));
  }

  #fit(): void {
    const width = this.#place.clientWidth;
    if (this.#plot && width > 0 && width !== this.#plot.width) this.#plot.setSize({ width, height: HEIGHT });
  }
}

const parent = document.getElementById('charts');
if (parent) {
  parent.hidden = false;
  const drawings = CHARTS.map((chart) => new Drawing(chart, parent));
  const draw = () => {
    for (const one of drawings) one.draw(samplesOf());
  };
  draw();
  document.addEventListener('berth:refreshed', (event) => {
    if (event.target instanceof HTMLElement && event.target.id === 'history')
      for (const one of drawings) one.update(samplesOf());
  });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw);
}
