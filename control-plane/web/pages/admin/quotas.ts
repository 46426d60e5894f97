/** The pages of quotas: their limits, who has them, and how close users are to the limits. */
import { Hono } from 'hono';
import type { Quota, User } from '../../../core/accounts/account.ts';
import { memoryText } from '../../../core/model/text.ts';
import type { UserUsage } from '../../../core/views/overview.ts';
import { pathId } from '../../../http/request.ts';
import {
  createQuota,
  deleteQuota,
  getQuota,
  listQuotas,
  updateQuota,
} from '../../../operations/accounts/quotas.ts';
import { listUsers } from '../../../operations/accounts/users.ts';
import { listUsages } from '../../../operations/cluster/cluster.ts';
import { handleForm } from '../../components/form-entry.ts';
import { type Html, html } from '../../components/html.ts';
import { memoryEntry } from '../../components/memory-unit.ts';
import { redirectAfter, redirectWith } from '../../components/notice.ts';
import { coresNumber, share } from '../../components/pieces.ts';
import type { WebContext, WebDeps, WebEnv } from '../../context.ts';
import { adminPage } from './admin-page.ts';
import { minutesText, quotaFields, quotaPage, type Usage } from './quota-form.ts';

export function quotaPages(deps: WebDeps): Hono<WebEnv> {
  const routes = new Hono<WebEnv>();
  routes.get('/', (c) => listAll(deps, c));
  routes.get('/new', (c) => quotaPage(c, null, [], { values: FRESH }));
  routes.post('/', (c) => addQuota(deps, c));
  routes.get('/:id', async (c) => {
    const quota = await quotaIn(deps, c);
    return quotaPage(c, quota, await usagesOf(deps, c, quota), { values: valuesOf(quota) });
  });
  routes.post('/:id', (c) => changeQuota(deps, c));
  routes.post('/:id/delete', async (c) => {
    const quota = await quotaIn(deps, c);
    return redirectAfter(c, '/admin/quotas', `Quota ${quota.name} was deleted.`, () =>
      deleteQuota(deps, c.get('actor'), quota.id),
    );
  });
  return routes;
}

async function listAll(deps: WebDeps, c: WebContext): Promise<Response> {
  const [quotas, users, usages] = await Promise.all([
    listQuotas(deps, c.get('actor'), async () => ({})),
    listUsers(deps, c.get('actor'), async () => ({})),
    listUsages(deps, c.get('actor')),
  ]);
  const usagesByQuota = Map.groupBy(usagesBy(users, usages), ({ user }) => user.quotaId);
  return listPage(c, quotas, usagesByQuota);
}

const addQuota = (deps: WebDeps, c: WebContext): Promise<Response> =>
  handleForm(
    c,
    quotaFields(),
    (entry) => quotaPage(c, null, [], entry),
    async (value) => {
      await createQuota(deps, c.get('actor'), async () => value);
      return redirectWith(c, '/admin/quotas', { kind: 'done', text: `Quota ${value.name} was created.` });
    },
  );

async function changeQuota(deps: WebDeps, c: WebContext): Promise<Response> {
  const quota = await quotaIn(deps, c);
  return handleForm(
    c,
    quotaFields(quota.memoryBytes),
    async (entry) => quotaPage(c, quota, await usagesOf(deps, c, quota), entry),
    async (value) => {
      await updateQuota(deps, c.get('actor'), quota.id, async () => value);
      return redirectWith(c, '/admin/quotas', { kind: 'done', text: `Quota ${value.name} was saved.` });
    },
  );
}

const quotaIn = (deps: WebDeps, c: WebContext): Promise<Quota> =>
  getQuota(deps, c.get('actor'), pathId(c, 'id'));

async function usagesOf(deps: WebDeps, c: WebContext, { id }: Quota): Promise<Usage[]> {
  const [users, usages] = await Promise.all([
    listUsers(deps, c.get('actor'), async () => ({ quotaId: id })),
    listUsages(deps, c.get('actor')),
  ]);
  return usagesBy(users, usages);
}

/** The usage of each user, largest first. */
function usagesBy(users: readonly User[], usages: readonly UserUsage[]): Usage[] {
  const usageOf = new Map(usages.map((usage) => [usage.userId, usage]));
  return users
    .map((user) => ({ user, ...(usageOf.get(user.id) ?? { executions: 0, memoryBytes: 0, cores: 0 }) }))
    .sort((a, b) => b.executions - a.executions || b.memoryBytes - a.memoryBytes || b.cores - a.cores);
}

const FRESH = {
  concurrent_executions: '5',
  memory: '32',
  memory_unit: 'GiB',
  cores: '20',
  time_limit: '0',
  max_time_limit: '0',
};

function valuesOf(quota: Quota): Record<string, string> {
  const { amount, unit } = memoryEntry(quota.memoryBytes);
  return {
    name: quota.name,
    concurrent_executions: String(quota.concurrentExecutions),
    memory: amount,
    memory_unit: unit,
    cores: String(quota.cores),
    time_limit: minutesText(quota.timeLimitS),
    max_time_limit: minutesText(quota.maxTimeLimitS),
  };
}

const listPage = (
  c: WebContext,
  quotas: readonly Quota[],
  usagesOf: ReadonlyMap<number, Usage[]>,
): Promise<Response> =>
  adminPage(c, {
    title: 'Quotas',
    body: html`
<div class="bar"><h1>Quotas</h1><a class="button primary" href="/admin/quotas/new">New quota</a></div>
<p class="quiet">Limits for each user, and the highest usage of any one user now.</p>
<div class="scroll"><table>
<thead><tr><th scope="col">Quota</th><th scope="col">Executions</th><th scope="col">Memory</th><th scope="col">Cores</th><th scope="col" class="number">Users</th></tr></thead>
<tbody>${quotas.map((quota) => quotaRow(quota, usagesOf.get(quota.id) ?? []))}</tbody>
</table></div>`,
  });

function quotaRow(quota: Quota, usages: readonly Usage[]): Html {
  const highest = (of: (one: Usage) => number) => Math.max(0, ...usages.map(of));
  const users = html`<a href="/admin/users?quota=${quota.id}" aria-label="${usages.length} ${usages.length === 1 ? 'user' : 'users'} with this quota">${usages.length}</a>`;
  return html`
<tr><th scope="row"><a href="/admin/quotas/${quota.id}">${quota.name}</a></th>
<td>${limited(
    highest(({ executions }) => executions),
    quota.concurrentExecutions,
  )}</td>
<td>${limited(
    highest(({ memoryBytes }) => memoryBytes),
    quota.memoryBytes,
    memoryText,
  )}</td>
<td>${limited(
    highest(({ cores }) => cores),
    quota.cores,
    coresNumber,
  )}</td>
<td class="number">${usages.length === 0 ? 0 : users}</td></tr>`;
}

const limited = (used: number, limit: number, text?: (amount: number) => string): Html =>
  html`${share(used, limit, text)}${limit === 0 ? ', no limit' : ''}`;
