/** The files of a service: downloads a path of its container, and uploads into a folder of it. */
import { Hono } from 'hono';
import type { OperationError } from '../../../core/model/errors.ts';
import type { ServiceView } from '../../../core/views/execution-views.ts';
import { answerDownload } from '../../../http/api/streams.ts';
import { isOwnVisit } from '../../../http/cross-site.ts';
import { requestStream } from '../../../operations/executions/streams.ts';
import { type Html, html } from '../../components/html.ts';
import { isOperationError } from '../../components/notice.ts';
import { page } from '../../components/page.ts';
import { alert, empty, field, live, options } from '../../components/pieces.ts';
import type { WebContext, WebDeps, WebEnv } from '../../context.ts';
import { statusOf } from '../../error-page.ts';
import { readServicePage, serviceCrumbs } from './service-page.ts';

export function filesPage(deps: WebDeps): Hono<WebEnv> {
  return new Hono<WebEnv>().get('/:id/services/:service/files', (c) => showFiles(c, deps));
}

export const filesPath = ({ executionId, id }: Pick<ServiceView, 'executionId' | 'id'>): string =>
  `/executions/${executionId}/services/${id}/files`;

async function showFiles(c: WebContext, deps: WebDeps): Promise<Response> {
  const servicePage = await readServicePage(c, deps);
  const { executionId, executionName, service, problem, isRefresh } = servicePage;
  // A page of another site must not make a browser save files.
  const isWanted = c.req.query('path') !== undefined && !isRefresh && isOwnVisit(c);
  const answer = problem === undefined && isWanted ? await download(c, deps, service) : undefined;
  if (answer instanceof Response) return answer;
  return page(c, {
    title: `Files of ${service.name} of ${executionName} #${executionId}`,
    status: answer ? statusOf(answer) : 200,
    ...(problem === undefined && { scripts: ['files'] }),
    body: html`
${serviceCrumbs(servicePage)}
<h1>Files of ${service.name}</h1>
${isRefresh || problem !== undefined ? live('files', [`execution:${executionId}`], noFiles(service, problem)) : files(c, service, answer)}`,
  });
}

/** The file or archive, or why it is refused. */
async function download(
  c: WebContext,
  deps: WebDeps,
  { id }: ServiceView,
): Promise<Response | OperationError> {
  try {
    return await answerDownload(c, deps.download, await requestStream(deps, c.get('actor'), id, 'files'));
  } catch (error) {
    if (isOperationError(error)) return error;
    throw error;
  }
}

/** What a page shows that was opened too early. It is fetched again after each change of the execution. */
const noFiles = (service: ServiceView, problem: string | undefined): Html =>
  problem === undefined
    ? empty(
        'The service runs',
        html`<p><a class="button" href="${filesPath(service)}">Show its files</a></p>`,
      )
    : empty('No files', html`<p>${problem}</p>`);

const FORMS = [
  ['file', 'the content of a file'],
  ['tar', 'a tar archive of a file or a folder'],
] as const;

const files = (c: WebContext, service: ServiceView, refused: OperationError | undefined): Html => html`
<section class="card" aria-labelledby="download-title">
<h2 id="download-title">Download</h2>
${alert(refused && `The download was refused: ${refused.message}`)}
<form method="get">
${field(
  { name: 'path', label: 'Path in the service', hint: 'It begins with /, as in /srv/out.csv.' },
  (attributes) =>
    html`<input ${attributes} required pattern="/.*" maxlength="4096" spellcheck="false" autocapitalize="off" value="${c.req.query('path') ?? ''}">`,
)}
${field(
  { name: 'form', label: 'As' },
  (attributes) => html`<select ${attributes}>${options(FORMS, c.req.query('form') ?? 'file')}</select>`,
)}
<button class="primary">Download</button>
</form>
</section>
<section id="upload" class="card scripted" aria-labelledby="upload-title" data-path="/native/api/0.7/service/${service.id}/files">
<h2 id="upload-title">Upload</h2>
<form>
${field({ name: 'files', label: 'Files' }, (attributes) => html`<input ${attributes} type="file" multiple>`)}
${field(
  {
    name: 'folder',
    label: 'Into the folder',
    hint: 'It must exist. A file of the same name is replaced, a folder never.',
  },
  (attributes) =>
    html`<input ${attributes} required pattern="/.*" maxlength="4096" spellcheck="false" autocapitalize="off" value="/tmp">`,
)}
<button class="primary">Upload</button>
</form>
<p><output id="upload-state"></output></p>
<ul id="uploads" class="uploads" aria-label="Uploads"></ul>
</section>
<noscript>
<p class="notice waits">Uploads require JavaScript. Without it, use the command line:
<code>berth cp data.csv ${service.executionId}/${service.name}:/srv</code></p>
</noscript>
<p class="hint">Copies run as the service's own user and never reach into a volume or a workspace. For whole folders use
<code>berth cp</code>. Leaving the page ends an upload.</p>`;
