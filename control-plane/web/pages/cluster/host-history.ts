/** The last hour of a host: a table, and the samples for browser/charts.ts. */
import { memoryText } from '../../../core/model/text.ts';
import type { HostSample } from '../../../core/views/host-history.ts';
import type { SeenHost } from '../../../operations/cluster/cluster.ts';
import { samplesFor } from '../../components/charts.ts';
import { type Html, html } from '../../components/html.ts';
import { coresNumber, timeOf } from '../../components/pieces.ts';
import { rowsOf } from './cluster-history.ts';

const COLUMNS = [
  ...(['memoryReserved', 'memoryUsed', 'memory'] as const),
  ...(['coresReserved', 'coresUsed', 'cores'] as const),
] as const;

export const hostHistoryPart = ({ memoryBytes, cores, samples }: SeenHost): Html => html`
${samplesFor(
  'samples',
  COLUMNS,
  samples.map((one) => ({
    atMs: one.atMs,
    ...{ memoryReserved: one.reservedMemoryBytes, memoryUsed: one.usedMemoryBytes, memory: memoryBytes },
    ...{ coresReserved: one.reservedCores, coresUsed: one.usedCores, cores },
  })),
)}
<details class="card">
<summary>Last hour as a table</summary>
<p class="hint">Samples are kept for an hour, and are lost when the control plane restarts.</p>
<div class="scroll"><table>
<thead><tr><th scope="col">Time</th><th scope="col">Memory reserved</th><th scope="col">Memory in use</th><th scope="col">Cores reserved</th><th scope="col">Cores in use</th></tr></thead>
<tbody>${rowsOf(samples).map(row)}</tbody>
</table></div>
</details>`;

const row = (one: HostSample): Html => html`
<tr><th scope="row">${timeOf(one.atMs)}</th>
<td>${memoryText(one.reservedMemoryBytes)}</td>
<td>${one.usedMemoryBytes === null ? 'unknown' : memoryText(one.usedMemoryBytes)}</td>
<td>${coresNumber(one.reservedCores)}</td>
<td>${one.usedCores === null ? 'unknown' : coresNumber(one.usedCores)}</td></tr>`;
