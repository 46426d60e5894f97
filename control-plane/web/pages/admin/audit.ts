/** The audit log with its filters, the latest entries first. */
import { type AuditRow, type AuditTarget, auditActions, auditTargets } from '../../../core/accounts/audit.ts';
import { auditFilter, auditFilterOf } from '../../../http/json/audit-schemas.ts';
import { listAudit } from '../../../operations/audit.ts';
import { type Html, html } from '../../components/html.ts';
import { badge, empty, options, timeOf } from '../../components/pieces.ts';
import type { WebContext, WebDeps } from '../../context.ts';
import { adminPage } from './admin-page.ts';

const PATH = '/admin/audit';
const PAGE_SIZE = 100;
const DAY_S = 86_400;

const PERIODS: readonly (readonly [days: string, text: string])[] = [
  ['', 'any'],
  ['1', 'last day'],
  ['7', 'last 7 days'],
  ['30', 'last 30 days'],
];

const FILTERS = ['user', 'action', 'target', 'within', 'before'] as const;
/** The filters of a URL; those that are not given are empty. */
type Filters = Record<(typeof FILTERS)[number], string>;

export async function auditPage(deps: WebDeps, c: WebContext): Promise<Response> {
  const filters = Object.fromEntries(
    FILTERS.map((name) => [name, c.req.query(name)?.trim() ?? '']),
  ) as Filters;
  const { filter } = auditFilterOf(readableOf(filters, c.get('nowMs')));
  const rows = await listAudit(deps, c.get('actor'), async () => ({ filter, limit: PAGE_SIZE + 1 }));
  const shown = rows.slice(0, PAGE_SIZE);
  const last = shown.at(-1);
  return adminPage(c, {
    title: 'Audit log',
    body: html`
<h1>Audit log</h1>
<p>Who has changed what; also logins, refused changes, and failed logins by network.</p>
${filterForm(filters)}
${shown.length === 0 ? empty('No matching entries', html`<p><a href="${PATH}">Show all entries</a></p>`) : table(shown)}
${rows.length > PAGE_SIZE && last ? html`<p class="bar"><a class="button" href="${olderPath(filters, last.id)}">Older entries</a></p>` : ''}`,
  });
}

/** What the API would accept. Values that nobody could have chosen here are ignored. */
function readableOf({ within, ...given }: Filters, nowMs: number) {
  const isPeriod = PERIODS.some(([days]) => days !== '' && days === within);
  const since = isPeriod ? String(Math.floor(nowMs / 1_000) - Number(within) * DAY_S) : '';
  const readable = Object.entries({ ...given, since }).filter(
    ([name, value]) => value !== '' && auditFilter.safeParse({ [name]: value }).success,
  );
  return auditFilter.parse(Object.fromEntries(readable));
}

function olderPath(filters: Filters, before: number): string {
  const given = Object.entries({ ...filters, before: String(before) }).filter(([, value]) => value !== '');
  return `${PATH}?${new URLSearchParams(given)}`;
}

const ACTIONS: [value: string, text: string][] = [
  ['', 'any'],
  ...auditActions.map((action): [string, string] => [action, action]),
];

const filterForm = (filters: Filters): Html => html`
<form class="bar filters" method="get" action="${PATH}" role="search" data-sparse autocomplete="off">
<label>User <input name="user" type="search" value="${filters.user}" placeholder="whole name"></label>
<label>Action <select name="action">${options(ACTIONS, filters.action)}</select></label>
<label>Target <input name="target" type="search" value="${filters.target}" placeholder="user/7"></label>
<label>Time <select name="within">${options(PERIODS, filters.within)}</select></label>
<button>Filter</button>
${Object.values(filters).some((one) => one !== '') ? html`<a class="button quiet" href="${PATH}">Clear</a>` : ''}
</form>`;

const table = (rows: readonly AuditRow[]): Html => html`
<div class="scroll" role="region" aria-label="Entries" tabindex="0"><table>
<thead><tr><th scope="col">Time</th><th scope="col">User</th><th scope="col">By</th><th scope="col">From</th><th scope="col">Action</th><th scope="col">Target</th><th scope="col">Outcome</th></tr></thead>
<tbody>${rows.map(
  (row) => html`
<tr><td>${timeOf(row.timeMs)}</td>
<td class="words">${row.username ?? '–'}</td>
<td>${row.tokenId === null ? row.credential : `${row.credential} ${row.tokenId}`}</td>
<td>${row.address ?? '–'}</td>
<td class="words" title="${row.requestId === null ? '' : `Request ${row.requestId}`}">${row.action}${row.fields.length > 0 ? html` <span class="hint">${row.fields.join(', ')}</span>` : ''}</td>
<td class="words">${targetText(row)}</td>
<td>${badge(row.outcome)}${row.count > 1 ? ` ${row.count} times` : ''}</td></tr>`,
)}</tbody>
</table></div>`;

/** Where each kind of target has a page. What was deleted meanwhile has none, which that page states. */
const PAGES: Partial<Record<AuditTarget, string>> = {
  execution: '/executions/',
  user: '/admin/users/',
  role: '/admin/roles/',
  quota: '/admin/quotas/',
  host: '/cluster/hosts/',
};

function targetText({ action, targetId, targetName, executionId }: AuditRow): Html {
  if (targetId === null) return html`${targetName ?? '–'}`;
  const kind = auditTargets[action];
  const path = PAGES[kind] && `${PAGES[kind]}${targetId}`;
  const href = kind === 'service' && executionId !== null ? `/executions/${executionId}` : path;
  const text = `${kind}/${targetId}`;
  return html`${href === undefined ? text : html`<a href="${href}">${text}</a>`} ${targetName ?? ''}`;
}
