/** The list of executions. */

import { Hono } from 'hono';
import type { Account, Role } from '../../../core/accounts/account.ts';
import { type ExecutionStatus, executionStatuses, isEnded } from '../../../core/model/execution.ts';
import { shortened } from '../../../core/model/text.ts';
import { MAX_COUNT, SEARCHED_NAMES } from '../../../core/views/execution-filter.ts';
import type { ExecutionLine } from '../../../core/views/execution-views.ts';
import { type ExecutionPage, pageExecutions } from '../../../operations/executions/executions.ts';
import { duration } from '../../components/duration.ts';
import { type Html, html } from '../../components/html.ts';
import { page } from '../../components/page.ts';
import { ago, badge, elapsed, empty, live, options } from '../../components/pieces.ts';
import type { WebContext, WebDeps, WebEnv } from '../../context.ts';
import { bulkPages } from './bulk.ts';
import { deeds, MAX_RUN, matchesOf } from './bulk-run.ts';
import { executionPage } from './execution.ts';
import {
  filterOf,
  isNarrowed,
  type ListQuery,
  listPath,
  readListQuery,
  spans,
} from './execution-filter-form.ts';

const PAGE_SIZE = 50;
/** Characters of a reason in the list. */
const MAX_WHY_LENGTH = 200;

export function executionPages(deps: WebDeps): Hono<WebEnv> {
  const routes = new Hono<WebEnv>();
  routes.get('/', async (c) => {
    const query = readListQuery(c.req.query());
    const found = await pageExecutions(deps, c.get('actor'), filterOf(query, c.get('nowMs')), PAGE_SIZE);
    return listPage(c, query, found);
  });
  routes.route('/', bulkPages(deps));
  routes.route('/', executionPage(deps));
  return routes;
}

function listPage(c: WebContext, query: ListQuery, found: ExecutionPage): Promise<Response> {
  const account = c.get('account');
  const path = c.req.path + new URL(c.req.url).search;
  return page(c, {
    title: 'Executions',
    scripts: ['executions'],
    body: html`
<div class="bar">
<h1>Executions</h1>
<a class="button primary" href="/start">New execution</a>
</div>
${filters(account, query)}
<form id="bulk" method="post" action="/executions/terminate"><input type="hidden" name="back" value="${path}"></form>
<form id="all" method="post" action="/executions/all">${filterFields(query)}</form>
${live('list', ['execution', 'service'], html`${states(query, found)}${listing(c, query, found)}`)}`,
  });
}

/** Fields that make the same filter, without the position. */
const filterFields = ({ before: _, ...filter }: ListQuery): Html[] =>
  Object.entries(filter)
    .filter(([, value]) => value)
    .map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`) as Html[];

const TIMES: [value: string, text: string][] = [
  ['', 'at any time'],
  ...Object.entries(spans).map(([value, { text }]): [string, string] => [value, text]),
];

function filters({ role }: Account, query: ListQuery): Html {
  const { state, name, owner, within } = query;
  return html`
<form class="bar filters" method="get" action="/executions" role="search" data-sparse autocomplete="off">
${state ? html`<input type="hidden" name="state" value="${state}">` : ''}
<label>Name <input name="name" type="search" value="${name}" maxlength="130" placeholder="any part" title="Part of the name, or the whole name in &quot;quotes&quot;"></label>
${role.canOperateOthers ? html`<label>Owner <input name="owner" type="search" value="${owner}" size="12" autocapitalize="none" spellcheck="false"></label>` : ''}
<label>Submitted <select name="within">${options(TIMES, within)}</select></label>
<button>Filter</button>
${isNarrowed(query) ? html`<a class="button quiet" href="${listPath({ ...query, name: '', owner: '', within: '' }, { state })}">Clear</a>` : ''}
</form>`;
}

/** Links to each state, with how many are in it. */
function states(query: ListQuery, found: ExecutionPage): Html {
  const link = (state: ExecutionStatus | undefined) => {
    const count = countOf(found, state);
    return html`
<li><a href="${listPath(query, { state })}"${state === query.state ? html` aria-current="true"` : ''}>${state ?? 'all'}${count && html` <span class="count">${count}</span>`}</a></li>`;
  };
  const shown = executionStatuses.filter((state) => state !== 'submitted' || found.counts?.has(state));
  return html`
<nav aria-label="States"><ul class="pills">
${[undefined, ...shown].map(link)}
</ul></nav>`;
}

/**
 * How many are in the state, or in all: `1,234`, or `10,000+` if there are or may be more. Empty if that is
 * not known.
 */
function countOf({ counts, searchEnd }: ExecutionPage, state: ExecutionStatus | undefined): string {
  if (!counts) return '';
  const count = state ? (counts.get(state) ?? 0) : [...counts.values()].reduce((sum, one) => sum + one, 0);
  const isMore = count > MAX_COUNT || searchEnd !== undefined;
  return grouped(Math.min(count, MAX_COUNT)) + (isMore ? '+' : '');
}

const grouped = (count: number): string => String(count).replace(/\B(?=(\d{3})+$)/g, ',');

function listing(c: WebContext, query: ListQuery, found: ExecutionPage): Html {
  if (found.lines.length === 0) return nothing(query, found);
  const { role } = c.get('account');
  const { canOperateOthers } = role;
  return html`
<div class="scroll"><table>
<caption class="unseen">Executions, newest first</caption>
<thead><tr>
<td></td><th scope="col">Name</th><th scope="col">State and time</th>
<th scope="col" class="number">Services</th>${canOperateOthers ? html`<th scope="col">Owner</th>` : ''}<th scope="col">Application</th>
</tr></thead>
<tbody>${found.lines.map((line) => row(line, found.waitingFor.get(line.id) ?? [], role, c.get('nowMs')))}</tbody>
</table></div>
${footer(query, found, role)}
${allThatMatch(query, found, role)}`;
}

function row(
  line: ExecutionLine,
  waitingFor: readonly string[],
  { canOperateOthers, canDeleteExecutions }: Role,
  nowMs: number,
): Html {
  const { id, name, status } = line;
  const checkbox = html`<input type="checkbox" id="select-${id}" form="bulk" name="id" value="${id}" autocomplete="off"${isEnded(line) ? '' : html` data-live`} aria-label="Select ${name} (${id})">`;
  return html`
<tr id="execution-${id}">
<td>${isEnded(line) && !canDeleteExecutions ? '' : checkbox}</td>
<th scope="row"><a href="/executions/${id}">${name}</a> <span class="quiet">#${id}</span>${line.error === null ? '' : html`<div class="why">${shortened(line.error, MAX_WHY_LENGTH)}</div>`}${why(waitingFor)}</th>
<td><div class="state"><span>${badge(status)}</span><span>${age(line, nowMs)}</span></div></td>
<td class="number">${isEnded(line) ? '' : html`<span title="${line.activeServices} of ${line.services} services are active">${line.activeServices}/${line.services}</span>`}</td>
${canOperateOthers ? html`<td class="words">${line.userName}</td>` : ''}
<td class="words">${line.application}</td>
</tr>`;
}

/** The first reason for waiting. The page of the execution has all of them. */
function why([first, ...others]: readonly string[]): Html | '' {
  if (first === undefined) return '';
  const text = shortened(first, MAX_WHY_LENGTH);
  return html`<div class="why quiet" title="${[first, ...others].join(' ')}">${text}</div>`;
}

/** For how long it is or was in its state, as far as that is known, or since when it is there. */
function age({ status, timeSubmitMs, timeStartMs, timeEndMs }: ExecutionLine, nowMs: number): Html {
  if (timeEndMs !== null) {
    const ran = timeStartMs === null ? 'never ran' : `ran ${duration(timeEndMs - timeStartMs)}`;
    return html`${ago(timeEndMs, nowMs)} <span class="quiet">${ran}</span>`;
  }
  if (status === 'running' && timeStartMs !== null) return lasting(timeStartMs, nowMs);
  if (status === 'queued') return lasting(timeSubmitMs, nowMs);
  return html`submitted ${ago(timeSubmitMs, nowMs)}`;
}

const lasting = (sinceMs: number, nowMs: number): Html =>
  html`<span class="whole">for ${elapsed(sinceMs, nowMs)}</span>`;

function footer(query: ListQuery, found: ExecutionPage, { canDeleteExecutions }: Role): Html {
  const { lines, hasMore, searchEnd } = found;
  const { state } = query;
  const all = countOf(found, state);
  const some = lines.length === 1 ? '1 execution' : `${lines.length} executions`;
  return html`
<div class="bar below">
<button form="bulk" class="danger" data-confirm="Terminate the selected executions? Their containers are stopped and removed." data-selected="Terminate">Terminate selected</button>
${canDeleteExecutions ? html`<button form="bulk" formaction="/executions/delete" name="confirmed" value="" class="danger" data-confirm="Delete the selected executions and their logs? Those that have not ended are terminated first." data-selected="Delete">Delete selected</button>` : ''}
<button type="button" class="quiet" data-select-all hidden>Select all</button>
<nav class="push bar" aria-label="Pages">
<span class="quiet">${all ? `${lines.length} of ${all}` : some}</span>
${query.before ? html`<a class="button" href="${listPath(query, { state })}">Newest</a>` : ''}
${hasMore ? html`<a class="button" rel="next" href="${listPath(query, { state, after: lines.at(-1) })}">Older</a>` : ''}
${!hasMore && searchEnd ? html`<a class="button" rel="next" href="${listPath(query, { state, after: searchEnd })}">Search older</a>` : ''}
</nav>
</div>`;
}

/** Work on more than the page shows. A page asks for confirmation, and states how many match. */
function allThatMatch(query: ListQuery, found: ExecutionPage, { canDeleteExecutions }: Role): Html | '' {
  if (!found.hasMore && !query.before && !found.searchEnd) return '';
  const buttons = deeds.flatMap((deed) => {
    const matches = matchesOf(found, { deed, query });
    if (matches === 0 || (deed === 'delete' && !canDeleteExecutions)) return [];
    const isKnown = matches !== undefined && matches <= MAX_RUN && !found.searchEnd;
    const text = `${deed === 'delete' ? 'Delete' : 'Terminate'} all${isKnown ? ` ${grouped(matches)}` : ''}`;
    return [html`<button form="all" name="deed" value="${deed}" class="quiet">${text} that match</button>`];
  });
  return buttons.length === 0 ? '' : html`<div class="bar below">${buttons}</div>`;
}

function nothing(query: ListQuery, { counts, searchEnd }: ExecutionPage): Html {
  const { state } = query;
  if (searchEnd)
    return empty(
      'No match so far',
      html`<p>The names of ${SEARCHED_NAMES / 1_000},000 executions were searched. <a rel="next" href="${listPath(query, { state, after: searchEnd })}">Search older ones</a></p>`,
    );
  if (query.before)
    return empty(
      'No older executions',
      html`<p>This page is past the end of the list. <a href="${listPath(query, { state })}">Show the newest</a></p>`,
    );
  if (isNarrowed(query))
    return empty('No matching executions', html`<p><a href="/executions">Show all executions</a></p>`);
  if (counts && counts.size > 0)
    return empty(
      `No executions in state "${state}"`,
      html`<p><a href="/executions">Show all executions</a></p>`,
    );
  return empty(
    'No executions yet',
    html`<p>Start an application from the <a href="/shop">app shop</a>, or <a href="/start">one of your own</a>.</p>`,
  );
}
