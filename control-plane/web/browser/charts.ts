/**
 * Draws the charts of a page from the samples in it (components/charts.ts). A table on the page has the same
 * numbers as text.
 */
import uPlot from 'uplot';
import { coresText, memoryText } from '../../core/model/text.ts';
import type { ChartColumn } from '../components/charts.ts';
import { localText } from './parts/local-time.ts';

interface Line {
  column: ChartColumn;
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
  /** The least that the axis spans, in its unit. */
  least: number;
  /** The unit of the axis by the highest value: the page's number for 1 on it, and its name. 1 by default. */
  unitOf?: (highest: number) => { unit: number; name: string };
  /** A value in words, from the page's number. */
  valueText: (value: number) => string;
}

const MIB = 2 ** 20;
const GIB = 2 ** 30;
const DAY_S = 86_400;
/** Shortest time that the charts span, even before there are samples for all of it. */
const MIN_SPAN_S = 600;
/** Distances between grid lines: 1, 2, 5, 10 and so on. */
const WHOLE_STEPS = Array.from({ length: 10 }, (_, power) => [1, 2, 5].map((n) => n * 10 ** power)).flat();

const CHARTS: readonly Chart[] = [
  {
    title: 'Executions',
    least: 1,
    lines: [
      { column: 'running', label: 'running', colour: '--good', filled: true },
      { column: 'queued', label: 'queued', colour: '--busy' },
    ],
    whole: true,
    valueText: String,
  },
  {
    title: 'Memory',
    least: 1,
    lines: [
      { column: 'memoryReserved', label: 'reserved', colour: '--accent', filled: true },
      { column: 'memoryUsed', label: 'in use', colour: '--good' },
      { column: 'memory', label: 'total', colour: '--quiet', dashed: true },
      { column: 'memoryLimit', label: 'limit', colour: '--bad', dashed: true },
    ],
    unitOf: (highest) => (highest < GIB ? { unit: MIB, name: 'MiB' } : { unit: GIB, name: 'GiB' }),
    valueText: memoryText,
  },
  {
    title: 'Cores',
    least: 0.1,
    lines: [
      { column: 'coresReserved', label: 'reserved', colour: '--accent', filled: true },
      { column: 'coresUsed', label: 'in use', colour: '--good' },
      { column: 'cores', label: 'total', colour: '--quiet', dashed: true },
    ],
    valueText: coresText,
  },
];
const HEIGHT = 190;
/** Texts of the time axis by the distance between grid lines. The day stands below the first time on it. */
const AXIS_TIMES: (string | number | null)[][] = [
  [DAY_S, '{MM}-{DD}', null, null, null, null, null, null, 1],
  [1, '{HH}:{mm}', null, null, '\n{MM}-{DD}', null, null, null, 1],
];
/**
 * A line keeps its value until the next sample. A slope would show a change as if it had begun at the sample
 * before, which may be many minutes old.
 */
const paths = uPlot.paths.stepped?.({ align: 1 });
const stepped: Pick<uPlot.Series, 'paths'> = paths ? { paths } : {};

type Numbers = (number | null)[];
/** The samples by column, as far as the page has them. */
type Samples = Partial<Record<ChartColumn | 'time', Numbers>>;

function samplesIn(element: HTMLElement | null): Samples {
  const columns = (element?.dataset.columns ?? '').split(' ');
  const given = JSON.parse(element?.dataset.samples ?? '[]') as Numbers[];
  const samples = given.length === 1 ? [...given.map(justBefore), ...given] : given;
  return Object.fromEntries(columns.map((name, at) => [name, samples.map((one) => one[at] ?? null)]));
}

/** A single time makes no axis. */
const justBefore = ([timeS, ...values]: Numbers): Numbers => [(timeS ?? 0) - 1, ...values];

const linesIn = ({ lines }: Chart, samples: Samples): Line[] =>
  lines.filter(({ column }) => samples[column] !== undefined);

function unitIn({ lines, unitOf }: Chart, samples: Samples): { unit: number; name: string } {
  const values = lines.flatMap(({ column }) => samples[column] ?? []).map((value) => value ?? 0);
  return unitOf?.(values.reduce((highest, value) => Math.max(highest, value), 0)) ?? { unit: 1, name: '' };
}

function dataOf(chart: Chart, samples: Samples): uPlot.AlignedData {
  const { unit } = unitIn(chart, samples);
  const scaled = linesIn(chart, samples).map(({ column }) =>
    samples[column]?.map((value) => value && value / unit),
  );
  return [samples.time ?? [], ...scaled] as uPlot.AlignedData;
}

const axisText = (value: number): string => String(Number(value.toPrecision(3)));

const colour = (name: string): string =>
  getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function optionsOf(chart: Chart, samples: Samples, width: number): uPlot.Options {
  const { whole, least, valueText } = chart;
  const { unit } = unitIn(chart, samples);
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
      x: { range: (_, first, last) => [Math.min(first, last - MIN_SPAN_S), last] },
      y: { range: (_, __, max) => [0, Math.max(least, max * 1.1)] },
    },
    axes: [
      { ...axis, values: AXIS_TIMES, space: 60 },
      {
        ...axis,
        size: 44,
        values: (_, splits) => splits.map(axisText),
        ...(whole ? { incrs: WHOLE_STEPS } : {}),
      },
    ],
    series: [
      { label: '', value: (_, atS) => (atS === null ? '' : localText(atS * 1_000)) },
      ...linesIn(chart, samples).map(
        ({ label, colour: name, filled, dashed }): uPlot.Series => ({
          label,
          stroke: colour(name),
          width: 2,
          points: { show: false },
          // The value at the pointer; empty without a pointer.
          value: (_, value, __, at) =>
            at === null ? '' : value === null ? 'unknown' : valueText(value * unit),
          ...(filled ? { fill: `${colour(name)}26` } : {}),
          ...stepped,
          ...(dashed ? { dash: [6, 4], width: 1 } : {}),
        }),
      ),
    ],
  };
}

class Drawing {
  readonly #chart: Chart;
  readonly #caption = document.createElement('figcaption');
  readonly #place = document.createElement('div');
  #plot: uPlot | undefined;

  constructor(chart: Chart, parent: HTMLElement) {
    this.#chart = chart;
    const figure = document.createElement('figure');
    figure.className = 'card chart';
    // The table has the same numbers for screen readers.
    this.#place.setAttribute('aria-hidden', 'true');
    figure.append(this.#caption, this.#place);
    parent.append(figure);
    new ResizeObserver(() => this.#fit()).observe(this.#place);
  }

  draw(samples: Samples): void {
    this.#plot?.destroy();
    this.#caption.textContent = this.#title(samples);
    this.#plot = new uPlot(
      optionsOf(this.#chart, samples, this.#place.clientWidth),
      dataOf(this.#chart, samples),
      this.#place,
    );
  }

  update(samples: Samples): void {
    if (this.#title(samples) === this.#caption.textContent) this.#plot?.setData(dataOf(this.#chart, samples));
    else this.draw(samples);
  }

  /** With the unit, which may become another one. */
  #title(samples: Samples): string {
    const { name } = unitIn(this.#chart, samples);
    return name === '' ? this.#chart.title : `${this.#chart.title} (${name})`;
  }

  #fit(): void {
    const width = this.#place.clientWidth;
    if (this.#plot && width > 0 && width !== this.#plot.width) this.#plot.setSize({ width, height: HEIGHT });
  }
}

/** The charts of one place on the page. Those without samples are hidden. */
class Place {
  readonly #parent: HTMLElement;
  #drawings: Drawing[] = [];

  constructor(parent: HTMLElement) {
    this.#parent = parent;
  }

  draw(): void {
    const samples = this.#samples();
    if (!samples.time?.length) return;
    if (this.#drawings.length === 0) {
      this.#parent.hidden = false;
      // What was reserved for them.
      this.#parent.replaceChildren();
      const charts = CHARTS.filter((chart) => linesIn(chart, samples).length > 0);
      this.#drawings = charts.map((chart) => new Drawing(chart, this.#parent));
    }
    for (const one of this.#drawings) one.draw(samples);
  }

  update(): void {
    if (this.#drawings.length === 0) this.draw();
    else for (const one of this.#drawings) one.update(this.#samples());
  }

  #samples(): Samples {
    return samplesIn(document.getElementById(this.#parent.dataset.charts ?? ''));
  }
}

const places = [...document.querySelectorAll<HTMLElement>('[data-charts]')].map((parent) => ({
  place: new Place(parent),
  samplesId: parent.dataset.charts ?? '',
}));
for (const { place } of places) place.draw();
document.addEventListener('berth:refreshed', ({ target }) => {
  for (const { place, samplesId } of places)
    if (target instanceof HTMLElement && target.querySelector(`#${samplesId}`)) place.update();
});
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
  for (const { place } of places) place.draw();
});
