/**
 * Bulk work on executions: on the selected ones at once, and on all that a filter finds in portions, after a
 * confirmation, with a page between two portions that shows how far it has come.
 */
import { Hono } from 'hono';
import { authorise } from '../../../core/accounts/account.ts';
import { OperationError } from '../../../core/model/errors.ts';
import {
  deleteExecution,
  findExecutions,
  pageExecutions,
  terminateExecution,
} from '../../../operations/executions/executions.ts';
import { fieldsOf as formFields, formOf } from '../../components/form.ts';
import { type Html, html } from '../../components/html.ts';
import { type Notice, redirectWith } from '../../components/notice.ts';
import { page } from '../../components/page.ts';
import type { WebContext, WebDeps, WebEnv } from '../../context.ts';
import { safePath } from '../../session.ts';
import {
  advanced,
  type Deed,
  fieldsOf,
  MAX_RUN,
  matchesOf,
  nextQuery,
  type Run,
  readRun,
} from './bulk-run.ts';
import { filterOf, type ListQuery, listPath, spans } from './execution-filter-form.ts';

/** Selected executions of one request; more than a page shows. */
const MAX_SELECTED = 200;
/** Executions of one portion, which takes about a second. */
const PORTION = 100;
/** Searches of one request, of which each may find nothing. */
const MAX_SEARCHES = 4;

export function bulkPages(deps: WebDeps): Hono<WebEnv> {
  const routes = new Hono<WebEnv>();
  routes.post('/terminate', (c) => onSelected(deps, c, 'terminate'));
  routes.post('/delete', (c) => onSelected(deps, c, 'delete'));
  routes.post('/all', (c) => onAll(deps, c));
  return routes;
}

async function onSelected(deps: WebDeps, c: WebContext, deed: Deed): Promise<Response> {
  assertAllowed(c, deed);
  const form = await formOf(c);
  const back = safePath(form.get('back'));
  const ids = [...new Set(form.getAll('id'))].filter((id) => /^\d{1,15}$/.test(id)).slice(0, MAX_SELECTED);
  if (ids.length === 0) return redirectWith(c, back, { kind: 'failed', text: 'No execution was selected.' });
  if (deed === 'delete' && form.get('confirmed') !== 'yes') return confirmSelected(c, ids, back);
  const outcomes = await workOn(deps, c, deed, ids.map(Number));
  return redirectWith(c, back, summaryOf(deed, outcomes));
}

/** Throws before anything is listed. A termination requires no more than the list. */
function assertAllowed(c: WebContext, deed: Deed): void {
  const actor = c.get('actor');
  if (deed === 'delete') authorise(actor, { kind: 'delete-execution', ownerId: c.get('account').user.id });
}

/** Undefined for what was done, else why it was not. Each is independent of the others. */
const workOn = (
  deps: WebDeps,
  c: WebContext,
  deed: Deed,
  ids: readonly number[],
): Promise<(OperationError | undefined)[]> =>
  Promise.all(
    ids.map((id) =>
      (deed === 'delete' ? deleteExecution : terminateExecution)(deps, c.get('actor'), id).then(
        () => undefined,
        (error: unknown) => {
          if (error instanceof OperationError) return error;
          throw error;
        },
      ),
    ),
  );

const doneText = (deed: Deed, done: number): string => {
  const some = done === 1 ? '1 execution' : `${grouped(done)} executions`;
  if (deed === 'delete') return `${some} ${done === 1 ? 'was' : 'were'} deleted.`;
  return `${some} ${done === 1 ? 'is' : 'are'} being terminated.`;
};

function summaryOf(deed: Deed, outcomes: readonly (OperationError | undefined)[]): Notice {
  const failed = outcomes.filter((outcome) => outcome !== undefined);
  const summary = doneText(deed, outcomes.length - failed.length);
  if (failed.length === 0) return { kind: 'done', text: summary };
  const reasons = [...new Set(failed.map(({ message }) => message))].join(' ');
  return { kind: 'failed', text: `${summary} ${failed.length} could not be ${deed}d: ${reasons}` };
}

/** Confirms the run, does its next portion, or shows how far it is. */
async function onAll(deps: WebDeps, c: WebContext): Promise<Response> {
  const run = readRun(formFields(await formOf(c)));
  assertAllowed(c, run.deed);
  if (!run.isConfirmed) return confirmAll(deps, c, run);
  const [next, stopped] = await workOnPortion(deps, c, run);
  if (stopped === undefined && nextQuery(next)) return progressPage(c, next);
  return redirectWith(c, firstPage(next.query), endOf(next, stopped));
}

/** Works on at most PORTION executions. The error, if there is one, ends the run. */
async function workOnPortion(
  deps: WebDeps,
  c: WebContext,
  begun: Run,
): Promise<[run: Run, stopped: OperationError | undefined]> {
  let run = begun;
  let left = PORTION;
  for (let searches = 0; searches < MAX_SEARCHES && left > 0; searches++) {
    const query = nextQuery(run);
    if (!query) break;
    const size = Math.min(left, MAX_RUN - run.done - run.failed);
    const found = await findExecutions(deps, c.get('actor'), filterOf(query, c.get('nowMs')), size);
    const outcomes = await workOn(
      deps,
      c,
      run.deed,
      found.lines.map(({ id }) => id),
    );
    left -= outcomes.length;
    // What has ended or is gone meanwhile needs no more work.
    const failed = outcomes.filter((one) => one && !isSettled(run.deed, one));
    const stopped = failed.find((one) => one?.code === 'unavailable' || one?.code === 'too-many');
    run = {
      ...advanced(run, found, size),
      done: run.done + outcomes.filter((one) => one === undefined).length,
      failed: run.failed + failed.length,
      reason: run.reason || (failed[0]?.message ?? ''),
    };
    if (stopped) return [run, stopped];
  }
  return [run, undefined];
}

const isSettled = (deed: Deed, { code }: OperationError): boolean =>
  code === 'not-found' || (deed === 'terminate' && code === 'conflict');

function endOf(run: Run, stopped: OperationError | undefined): Notice {
  const { deed, done, failed, reason } = run;
  const parts = [doneText(deed, done)];
  if (failed > 0) parts.push(`${failed} could not be ${deed}d: ${reason}`);
  if (stopped) parts.push('The rest was left alone.');
  else if (done + failed >= MAX_RUN)
    parts.push(`${grouped(MAX_RUN)} are the most at once: repeat it for the rest.`);
  return { kind: failed > 0 ? 'failed' : 'done', text: parts.join(' ') };
}

async function confirmAll(deps: WebDeps, c: WebContext, run: Run): Promise<Response> {
  const { before: _, ...query } = run.query;
  const found = await pageExecutions(deps, c.get('actor'), filterOf(query, c.get('nowMs')), 1);
  const matches = matchesOf(found, { deed: run.deed, query });
  const isMore = matches === undefined || matches > MAX_RUN || found.searchEnd !== undefined;
  const total = isMore ? 0 : matches;
  const begun: Run = {
    ...run,
    query,
    fromMs: c.get('nowMs'),
    stage: 0,
    done: 0,
    failed: 0,
    total,
    reason: '',
  };
  const many =
    matches === undefined ? 'All' : matches > MAX_RUN ? `More than ${grouped(MAX_RUN)}` : grouped(matches);
  const title = run.deed === 'delete' ? 'Delete all that match?' : 'Terminate all that match?';
  return page(c, {
    title: title.slice(0, -1),
    body: html`
<form class="card narrow" method="post" action="/executions/all">
<h1>${title}</h1>
<p>${many} ${matches === 1 ? 'execution matches' : 'executions match'}${run.deed === 'terminate' ? ' and can be terminated' : ''}: ${filterText(run)}.</p>
<p>${run.deed === 'delete' ? 'They and their logs are permanently deleted. Those that have not ended are terminated first.' : 'Their containers are stopped and removed.'}</p>
${isMore ? html`<p>At most ${grouped(MAX_RUN)} are ${run.deed}d at once. If others still match afterwards, repeat it.</p>` : ''}
${hidden(begun)}
${matches === 0 ? '' : html`<button class="danger" name="confirmed" value="yes">${run.deed === 'delete' ? 'Delete' : 'Terminate'} ${isMore ? 'them' : grouped(matches)}</button>`}
<a class="button" href="${firstPage(query)}">Cancel</a>
</form>`,
  });
}

/** The script continues by itself (browser/executions.ts). */
function progressPage(c: WebContext, run: Run): Promise<Response> {
  const { deed, done, failed, total } = run;
  const of = total > 0 ? ` of ${grouped(total)}` : '';
  const text = `${grouped(done)}${of} ${deed}d${failed > 0 ? `, ${grouped(failed)} failed` : ''}`;
  const bar =
    total > 0
      ? html`<progress max="${total}" value="${Math.min(done + failed, total)}" aria-label="${text}"></progress>`
      : '';
  return page(c, {
    title: `${deed === 'delete' ? 'Deleting' : 'Terminating'}: ${text}`,
    scripts: ['executions'],
    body: html`
<form class="card narrow" method="post" action="/executions/all" data-continue>
<h1>${deed === 'delete' ? 'Deleting' : 'Terminating'} all that match</h1>
<div class="meter">${bar}<span role="status">${text}</span></div>
${hidden(run)}
<noscript><p class="hint">Without script, each step takes a press of the button.</p></noscript>
<button class="danger" name="confirmed" value="yes">Continue</button>
<a class="button" href="${firstPage(run.query)}">Stop here</a>
</form>`,
  });
}

/** The list with the filter of the run. */
const firstPage = (query: ListQuery): string => listPath(query, { state: query.state });

const hidden = (run: Run): Html[] =>
  fieldsOf(run).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`) as Html[];

const grouped = (count: number): string => String(count).replace(/\B(?=(\d{3})+$)/g, ',');

/** The filter in words. */
function filterText({ query: { state, name, owner, within } }: Run): string {
  const parts = [
    state && `state ${state}`,
    name && `name ${name.startsWith('"') ? name : `with "${name}"`}`,
    owner && `owner ${owner}`,
    within && `submitted ${spans[within]?.text}`,
  ].filter(Boolean);
  return parts.length > 0 ? parts.join(', ') : 'all that you may see, without any filter';
}

/** The confirmation without script. */
const confirmSelected = (c: WebContext, ids: readonly string[], back: string): Promise<Response> =>
  page(c, {
    title: 'Delete selected executions',
    body: html`
<form class="card narrow" method="post" action="/executions/delete">
<h1>Delete ${ids.length === 1 ? '1 execution' : `${ids.length} executions`}?</h1>
<p>This permanently deletes them and their logs. Those that have not ended are terminated first.</p>
<input type="hidden" name="back" value="${back}">
${ids.map((id) => html`<input type="hidden" name="id" value="${id}">`)}
<button class="danger" name="confirmed" value="yes">Delete</button>
<a class="button" href="${back}">Cancel</a>
</form>`,
  });
