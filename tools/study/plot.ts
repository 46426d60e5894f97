/** Plot of the study as SVG: one panel per figure, one line per scheduler over the offered load. Pure. */
import type { Scheduler } from './simulation.ts';
import { columns, type Row } from './summary.ts';

interface Panel {
  /** Name of its column in the table. */
  column: string;
  title: string;
  scale: 'logarithmic' | 'linear';
}

const panels: readonly Panel[] = [
  { column: 'turnaround, median', title: 'Turnaround, median (s)', scale: 'logarithmic' },
  { column: 'turnaround, p95', title: 'Turnaround, 95th percentile (s)', scale: 'logarithmic' },
  { column: 'waiting, p95', title: 'Waiting, 95th percentile (s)', scale: 'logarithmic' },
  { column: 'allocation, median', title: 'Allocation, median (%)', scale: 'linear' },
];

const colours: Record<Scheduler['queue'], string> = { FIFO: '#c2410c', SIZE: '#1d4ed8', DYNSIZE: '#15803d' };
const dashes: Record<Scheduler['instances'], string> = { rigid: '6 4', elastic: 'none' };

const PANEL = { width: 320, height: 260, gap: 20, left: 56, right: 12, top: 70, bottom: 44 };
/** Horizontal distance between the lines of one load, so that their intervals stay distinguishable. */
const LINE_OFFSET = 4;

interface Point {
  load: number;
  low: number;
  mean: number;
  high: number;
}

interface Line {
  scheduler: Scheduler;
  points: Point[];
}

export function plotOf(rows: readonly Row[]): string {
  const width = panels.length * (PANEL.width + PANEL.gap);
  const height = PANEL.top + PANEL.height + PANEL.bottom;
  const drawn = panels.map((panel, n) => {
    const content = drawPanel(panel, linesOf(rows, panel.column));
    return `<g transform="translate(${n * (PANEL.width + PANEL.gap)} 0)">${content}</g>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="sans-serif" font-size="12" fill="#1f2937">
<title>Turnaround, waiting and allocation over the offered load, by scheduler</title>
<rect width="${width}" height="${height}" fill="white"/>
${legend(linesOf(rows, panels[0]?.column ?? ''))}
${drawn.join('\n')}
</svg>
`;
}

function linesOf(rows: readonly Row[], column: string): Line[] {
  const at = columns.findIndex(({ name }) => name === column);
  const lines = new Map<string, Line>();
  for (const { load, scheduler, estimates } of rows) {
    const { mean, halfWidth } = estimates[at] ?? { mean: Number.NaN, halfWidth: 0 };
    const name = `${scheduler.instances} ${scheduler.queue}`;
    const line = lines.get(name) ?? { scheduler, points: [] };
    line.points.push({ load, low: mean - halfWidth, mean, high: mean + halfWidth });
    lines.set(name, line);
  }
  return [...lines.values()];
}

function drawPanel({ title, scale }: Panel, lines: readonly Line[]): string {
  const points = lines.flatMap((line) => line.points);
  const loads = [...new Set(points.map(({ load }) => load))];
  const ticks =
    scale === 'linear' ? [0, 20, 40, 60, 80, 100] : decades(points.flatMap(({ low, high }) => [low, high]));
  const [bottom, top] = [ticks[0] ?? 0, ticks.at(-1) ?? 1];
  const measure =
    scale === 'linear' ? (value: number) => value : (value: number) => Math.log(Math.max(value, bottom));
  const y = (value: number) =>
    PANEL.top + PANEL.height * (1 - (measure(value) - measure(bottom)) / (measure(top) - measure(bottom)));
  const inner = PANEL.width - PANEL.left - PANEL.right;
  const x = (load: number) => PANEL.left + (inner * (loads.indexOf(load) + 0.5)) / loads.length;
  const end = PANEL.width - PANEL.right;
  const floor = PANEL.top + PANEL.height;
  return [
    `<text x="${PANEL.left}" y="${PANEL.top - 12}" font-weight="bold">${title}</text>`,
    ...ticks.map(
      (tick) =>
        `<path d="M${PANEL.left} ${round(y(tick))}H${end}" stroke="#e5e7eb"/><text x="${PANEL.left - 6}" y="${round(y(tick) + 4)}" text-anchor="end">${tick}</text>`,
    ),
    ...loads.map(
      (load) => `<text x="${round(x(load))}" y="${floor + 16}" text-anchor="middle">${load}</text>`,
    ),
    `<text x="${PANEL.left + inner / 2}" y="${floor + 34}" text-anchor="middle">offered load</text>`,
    ...lines.map((line, n) =>
      drawLine(line, (load) => x(load) + (n - (lines.length - 1) / 2) * LINE_OFFSET, y),
    ),
  ].join('\n');
}

function drawLine(
  { scheduler, points }: Line,
  x: (load: number) => number,
  y: (value: number) => number,
): string {
  const colour = colours[scheduler.queue];
  const path = points
    .map(({ load, mean }, n) => `${n ? 'L' : 'M'}${round(x(load))} ${round(y(mean))}`)
    .join('');
  const intervals = points
    .filter(({ high }) => Number.isFinite(high))
    .map(({ load, low, high }) => `M${round(x(load))} ${round(y(low))}V${round(y(high))}`)
    .join('');
  const dots = points.map(
    ({ load, mean }) => `<circle cx="${round(x(load))}" cy="${round(y(mean))}" r="2.5" fill="${colour}"/>`,
  );
  return `<path d="${path}" fill="none" stroke="${colour}" stroke-width="1.5" stroke-dasharray="${dashes[scheduler.instances]}"/><path d="${intervals}" stroke="${colour}"/>${dots.join('')}`;
}

/** 1, 2 and 5 times powers of ten, enclosing all values. */
function decades(values: readonly number[]): number[] {
  const seen = values.filter((value) => Number.isFinite(value) && value > 0);
  const [least, most] = [Math.min(...seen), Math.max(...seen)];
  const steps = Array.from({ length: 10 }, (_, power) => [1, 2, 5].map((step) => step * 10 ** power)).flat();
  const first = Math.max(
    0,
    steps.findLastIndex((step) => step <= least),
  );
  const last = steps.findIndex((step) => step >= most);
  return steps.slice(first, last < 0 ? undefined : last + 1);
}

function legend(lines: readonly Line[]): string {
  return lines
    .map(({ scheduler: { instances, queue } }, n) => {
      const x = PANEL.left + n * 150;
      return `<path d="M${x} 22h28" stroke="${colours[queue]}" stroke-width="1.5" stroke-dasharray="${dashes[instances]}"/><text x="${x + 34}" y="26">${instances}, ${queue}</text>`;
    })
    .join('');
}

const round = (value: number): number => Math.round(value * 10) / 10;
