/** The description on an execution's page: what it says of each service, and the text as submitted. */
import type { Application, ServiceDescription } from '../../../../shared/application-schema.ts';
import { sharedWithUsers } from '../../../core/apps/app-address.ts';
import { requirementOf } from '../../../core/model/resources.ts';
import { coresText, count, memoryText, shortened } from '../../../core/model/text.ts';
import type { ExecutionView } from '../../../core/views/execution-views.ts';
import { duration } from '../../components/duration.ts';
import { type Html, html } from '../../components/html.ts';
import { LIFE_TEXTS } from '../../description/simple-application.ts';

/** Longer descriptions are only downloaded: a page with one takes a browser's time, and that of others. */
const MAX_SHOWN = 64 * 1024;
/** Services of the description in the table, and characters of an image or a command. */
const MAX_ROWS = 20;
const MAX_TEXT_LENGTH = 200;

/** `defaultMemoryBytes`: the limit of services that state none. */
export function aboutDescription(
  execution: ExecutionView,
  username: string,
  defaultMemoryBytes: number | undefined,
): Html {
  const { id, userName, description, timeLimitS } = execution;
  const application = JSON.parse(description) as Application;
  const isShown = description.length <= MAX_SHOWN;
  return html`
<section aria-labelledby="about-title">
<h2 id="about-title">Description</h2>
<dl class="facts">
<dt>Application</dt><dd>${application.name}</dd>
<dt>Type</dt><dd>${application.will_end ? LIFE_TEXTS.ends : LIFE_TEXTS.stays}</dd>
${timeLimitS === null ? '' : html`<dt>Time limit</dt><dd>${duration(timeLimitS * 1_000)}</dd>`}
${sharedWithUsers(application) ? html`<dt>Web applications</dt><dd>for everybody who is logged in</dd>` : ''}
<dt>Owner</dt><dd>${userName}${userName === username ? ' (you)' : ''}</dd>
</dl>
${definitions(application.services, defaultMemoryBytes)}
<details>
<summary>JSON as submitted</summary>
<div class="bar">
${isShown ? html`<button type="button" class="scripted" data-copy="description">Copy</button>` : html`<p>The description has ${memoryText(description.length)}.</p>`}
<a class="button" href="/executions/${id}/description.json" download>Download</a>
</div>
${isShown ? html`<pre id="description" tabindex="0">${`${JSON.stringify(application, null, 2)}\n`}</pre>` : ''}
</details>
</section>`;
}

/** What each instance of a service runs, reserves and may use at most. */
const definitions = (
  services: readonly ServiceDescription[],
  defaultMemoryBytes: number | undefined,
): Html => html`
<div class="scroll below" tabindex="0"><table>
<caption class="unseen">What each instance of a service runs and reserves</caption>
<thead><tr><th scope="col">Service</th><th scope="col" class="number">Instances</th><th scope="col">Image, command</th>
<th scope="col">Memory reserved</th><th scope="col">Cores reserved</th></tr></thead>
<tbody>${services.slice(0, MAX_ROWS).map((service) => definition(service, defaultMemoryBytes))}</tbody>
</table></div>
${services.length > MAX_ROWS ? html`<p class="hint">${count(services.length - MAX_ROWS, 'more service')} in the JSON.</p>` : ''}`;

function definition(service: ServiceDescription, defaultMemoryBytes: number | undefined): Html {
  const { name, image, command, total_count, resources } = service;
  const { memoryBytes, limitBytes, cores } = requirementOf(service);
  return html`
<tr>
<th scope="row">${name}</th>
<td class="number">${total_count}</td>
<td class="words"><code>${cut(image)}</code>${command === null ? '' : html`<br><code class="quiet">${cut(command)}</code>`}</td>
<td>${memoryBytes === 0 ? 'nothing' : memoryText(memoryBytes)}<br><span class="quiet">${limitText(limitBytes, defaultMemoryBytes)}</span></td>
<td>${coresText(cores)}<br><span class="quiet">${resources.cores.max === null ? 'no limit' : `at most ${coresText(resources.cores.max)}`}</span></td>
</tr>`;
}

const cut = (text: string): string => shortened(text, MAX_TEXT_LENGTH);

/** What a container may use before it is killed. */
export function limitText(limitBytes: number | null, defaultMemoryBytes: number | undefined): string {
  const bytes = limitBytes ?? defaultMemoryBytes;
  if (bytes === undefined) return "at most the deployment's default";
  if (bytes === 0) return 'no limit';
  return `at most ${memoryText(bytes)}${limitBytes === null ? ', the default' : ''}`;
}
