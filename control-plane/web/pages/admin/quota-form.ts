/** Owns how the form of a quota looks in the administration, and who takes how much of it. */
import * as z from 'zod';
import type { Quota, User } from '../../../core/accounts/account.ts';
import { count, name } from '../../../http/json/account-fields.ts';
import type { Entry } from '../../components/form-entry.ts';
import { type Html, html } from '../../components/html.ts';
import { alert, bytes, field, share } from '../../components/pieces.ts';
import type { WebContext } from '../../context.ts';
import { adminPage } from './admin-page.ts';

const GIB = 2 ** 30;
/** Of the users of a quota; the list of users has the others. */
const MOST = 50;

/** What of a user counts now. */
export interface Taken {
  user: User;
  executions: number;
  memoryBytes: number;
  cores: number;
}

const number = z
  .string()
  .trim()
  .regex(/^\d{1,12}(\.\d{1,9})?$/, 'must be a number, 0 for no limit')
  .transform(Number);

export const quotaFields = z
  .object({
    name,
    concurrent_executions: number.pipe(count),
    memory: number.transform((gib) => Math.round(gib * GIB)).pipe(count),
    cores: number.pipe(count),
  })
  .transform(({ concurrent_executions, memory, ...rest }) => ({
    ...rest,
    concurrentExecutions: concurrent_executions,
    memoryBytes: memory,
  }));

/** Memory as the form has it, in GiB. */
export const gibText = (memoryBytes: number): string => String(Number((memoryBytes / GIB).toFixed(3)));

export const quotaPage = (
  c: WebContext,
  quota: Quota | null,
  taken: readonly Taken[],
  entry: Entry,
): Promise<Response> =>
  adminPage(c, {
    title: quota?.name ?? 'New quota',
    status: entry.status ?? 200,
    body: html`
<form class="card" method="post" action="/admin/quotas${quota ? `/${quota.id}` : ''}">
<h1>${quota?.name ?? 'New quota'}</h1>
${alert(entry.refused)}
<p>What each user who has it may have running at a time; more waits in the queue. 0 is no limit.</p>
${fields(entry)}
<div class="bar"><button class="primary">${quota ? 'Save' : 'Make the quota'}</button><a class="button" href="/admin/quotas">Cancel</a></div>
</form>
${quota ? usersPart(quota, taken) : ''}`,
  });

function fields({ values, problems }: Entry): Html {
  const control = (key: string, label: string, more: Html) =>
    field(
      { name: key, label, problems },
      (it) => html`<input ${it} value="${values[key] ?? ''}" required ${more}>`,
    );
  return html`
${control('name', 'Name', html`autocomplete="off"`)}
<div class="columns">
${control('concurrent_executions', 'Executions', html`type="number" min="0" step="1"`)}
${control('memory', 'Memory (GiB)', html`type="number" min="0" step="any"`)}
${control('cores', 'Cores', html`type="number" min="0" step="1"`)}
</div>`;
}

function usersPart(quota: Quota, taken: readonly Taken[]): Html {
  if (taken.length === 0)
    return html`
<h2>Users</h2>
<form method="post" action="/admin/quotas/${quota.id}/delete"><p>No user has this quota. <button class="danger" data-confirm="Delete this quota?">Delete the quota</button></p></form>`;
  return html`
<h2>Users</h2>
<div class="scroll"><table>
<thead><tr><th scope="col">User</th><th scope="col">Executions</th><th scope="col">Memory</th><th scope="col">Cores</th></tr></thead>
<tbody>${taken.slice(0, MOST).map(
    ({ user, executions, memoryBytes, cores }) => html`
<tr><th scope="row"><a href="/admin/users/${user.id}">${user.username}</a></th>
<td>${share(executions, quota.concurrentExecutions)}</td><td>${share(memoryBytes, quota.memoryBytes, bytes)}</td><td>${share(cores, quota.cores)}</td></tr>`,
  )}</tbody>
</table></div>
<p class="hint">${taken.length > MOST ? html`<a href="/admin/users?quota=${quota.id}">All ${taken.length} users</a>. ` : ''}It can be deleted when no user has it.</p>`;
}
