/** The last hour of the cluster: a table, and the samples for browser/charts.ts. */
import { memoryText } from '../../../core/model/text.ts';
import type { Sample } from '../../../core/views/history.ts';
import { samplesFor } from '../../components/charts.ts';
import { type Html, html } from '../../components/html.ts';
import { coresNumber, timeOf } from '../../components/pieces.ts';

/** Time between two rows of the table; the charts have all samples. */
const ROW_MS = 5 * 60_000;

export function historyPart(samples: readonly Sample[]): Html {
  const [first] = samples;
  return html`
${samplesFor('samples', COLUMNS, samples.map(numbersOf))}
<details class="card">
<summary>Last hour as a table</summary>
<p class="hint">${first ? html`Since ${timeOf(first.atMs)}. ` : ''}Samples are kept for an hour, and are lost when the control plane restarts.</p>
<div class="scroll"><table>
<thead><tr><th scope="col">Time</th><th scope="col" class="number">Running</th><th scope="col" class="number">Queued</th><th scope="col">Memory reserved</th><th scope="col">Memory in use</th><th scope="col">Cores reserved</th><th scope="col">Cores in use</th></tr></thead>
<tbody>${rowsOf(samples).map(row)}</tbody>
</table></div>
</details>`;
}

const COLUMNS = [
  'running',
  'queued',
  'memoryReserved',
  'memoryUsed',
  'memory',
  'coresReserved',
  'coresUsed',
  'cores',
] as const;

const numbersOf = (one: Sample) => ({
  atMs: one.atMs,
  running: one.running,
  queued: one.queued,
  memoryReserved: one.reservedMemoryBytes,
  memoryUsed: one.usedMemoryBytes,
  memory: one.memoryBytes,
  coresReserved: one.reservedCores,
  coresUsed: rounded(one.usedCores),
  cores: one.cores,
});

/** Newest first, one row every five minutes. */
export function rowsOf<T extends { atMs: number }>(samples: readonly T[]): T[] {
  const rows: T[] = [];
  for (const one of samples.toReversed()) {
    const last = rows.at(-1);
    if (!last || last.atMs - one.atMs >= ROW_MS) rows.push(one);
  }
  return rows;
}

const row = (one: Sample): Html => html`
<tr><th scope="row">${timeOf(one.atMs)}</th>
<td class="number">${one.running}</td><td class="number">${one.queued}</td>
<td>${shareText(one.reservedMemoryBytes, one.memoryBytes, memoryText)}</td>
<td>${textOf(one.usedMemoryBytes, memoryText)}</td>
<td>${shareText(one.reservedCores, one.cores, coresNumber)}</td>
<td>${textOf(one.usedCores, coresNumber)}</td></tr>`;

const textOf = (amount: number | null, text: (amount: number) => string): string =>
  amount === null ? 'unknown' : text(amount);

const shareText = (part: number | null, total: number | null, text: (amount: number) => string): string =>
  part === null || total === null ? 'unknown' : `${text(part)} of ${text(total)}`;

const rounded = (count: number | null): number | null => count && Number(count.toFixed(2));
