/** The form of a quota, and how much of the quota each user takes. */
import * as z from 'zod';
import type { Quota, User } from '../../../core/accounts/account.ts';
import { memoryText } from '../../../core/model/text.ts';
import { MAX_TIME_LIMIT_S } from '../../../core/model/time-limit.ts';
import { cores, count, name } from '../../../http/json/account-fields.ts';
import type { Entry } from '../../components/form-entry.ts';
import { type Html, html } from '../../components/html.ts';
import { memoryInput } from '../../components/memory-input.ts';
import { isNegative, memoryBytes } from '../../components/memory-unit.ts';
import { alert, coresNumber, field, share } from '../../components/pieces.ts';
import type { WebContext } from '../../context.ts';
import { adminPage } from './admin-page.ts';

/** Users shown on the page of a quota; the list of users has the others. */
const MAX_USERS = 50;

const NOT_A_LIMIT = 'must be a number; 0 means no limit';

/** What a user has placed now. */
export interface Usage {
  user: User;
  executions: number;
  memoryBytes: number;
  cores: number;
}

const NEGATIVE = 'must be at least 0; 0 means no limit';

const number = z
  .string()
  .trim()
  .refine((text) => !isNegative(text), { error: NEGATIVE, abort: true })
  .regex(/^\d{1,12}(\.\d{1,9})?$/, NOT_A_LIMIT)
  .transform(Number);

const SECONDS_IN_MINUTE = 60;

/** A time in minutes, of which two decimals give each second. */
const seconds = number
  .transform((minutes) => Math.round(minutes * SECONDS_IN_MINUTE))
  .pipe(z.int().max(MAX_TIME_LIMIT_S, `must be at most ${MAX_TIME_LIMIT_S / SECONDS_IN_MINUTE} minutes`));

export const minutesText = (timeS: number): string => String(Number((timeS / SECONDS_IN_MINUTE).toFixed(2)));

/** Parses the form. `shownBytes` is the memory that the form showed: an untouched amount stays exact. */
export const quotaFields = (shownBytes?: number) =>
  z.preprocess(
    (form) => {
      const { memory = '', memory_unit = 'GiB', ...rest } = form as Record<string, string>;
      const bytes = memoryBytes({ amount: memory, unit: memory_unit }, shownBytes);
      return { ...rest, memory: isNegative(memory) ? -1 : bytes };
    },
    z
      .object({
        name,
        concurrent_executions: number.pipe(count),
        memory: z.number(NOT_A_LIMIT).nonnegative(NEGATIVE).pipe(count),
        cores: number.pipe(cores),
        time_limit: seconds.optional(),
        max_time_limit: seconds.optional(),
      })
      .transform(({ concurrent_executions, memory, time_limit, max_time_limit, ...rest }) => ({
        ...rest,
        concurrentExecutions: concurrent_executions,
        memoryBytes: memory,
        timeLimitS: time_limit,
        maxTimeLimitS: max_time_limit,
      })),
  );

export const quotaPage = (
  c: WebContext,
  quota: Quota | null,
  usages: readonly Usage[],
  entry: Entry,
): Promise<Response> =>
  adminPage(c, {
    title: quota?.name ?? 'New quota',
    status: entry.status ?? 200,
    body: html`
<form class="card" method="post" action="/admin/quotas${quota ? `/${quota.id}` : ''}">
<h1>${quota?.name ?? 'New quota'}</h1>
${alert(entry.refused)}
<p>Limits for each user with this quota on what may run at the same time. Whatever exceeds a limit waits in the queue. 0 means no limit.</p>
${fields(entry)}
<div class="bar"><button class="primary">${quota ? 'Save' : 'Create quota'}</button><a class="button" href="/admin/quotas">Cancel</a></div>
</form>
${quota ? usersPart(quota, usages) : ''}`,
  });

function fields({ values, problems }: Entry): Html {
  const control = (key: string, label: string, more: Html, hint = '') =>
    field(
      { name: key, label, hint, problems },
      (it) => html`<input ${it} value="${values[key] ?? ''}" required ${more}>`,
    );
  return html`
${control('name', 'Name', html`autocomplete="off"`)}
<div class="columns">
${control('concurrent_executions', 'Executions', html`type="number" min="0" step="1"`)}
${field({ name: 'memory', label: 'Memory', problems }, (it) => memoryInput(it, { name: 'memory', label: 'memory', entry: { amount: values.memory ?? '', unit: values.memory_unit ?? 'GiB' }, more: html`required` }))}
${control('cores', 'Cores', html`type="number" min="0" step="0.01"`, 'Ten services that reserve 0.1 cores take one.')}
</div>
<p>Executions end when their time limit is over. It is what a submission states, but at most the longest; without one, it is the usual one. In minutes; 0 means no limit.</p>
<div class="columns">
${control('time_limit', 'Usual time limit', html`type="number" min="0" step="0.01"`)}
${control('max_time_limit', 'Longest time limit', html`type="number" min="0" step="0.01"`)}
</div>`;
}

function usersPart(quota: Quota, usages: readonly Usage[]): Html {
  if (usages.length === 0)
    return html`
<h2>Users</h2>
<form method="post" action="/admin/quotas/${quota.id}/delete"><p>No user has this quota. <button class="danger" data-confirm="Delete this quota?">Delete quota</button></p></form>`;
  return html`
<h2>Users</h2>
<div class="scroll"><table>
<thead><tr><th scope="col">User</th><th scope="col">Executions</th><th scope="col">Memory</th><th scope="col">Cores</th></tr></thead>
<tbody>${usages.slice(0, MAX_USERS).map(
    ({ user, executions, memoryBytes, cores }) => html`
<tr><th scope="row"><a href="/admin/users/${user.id}">${user.username}</a></th>
<td>${share(executions, quota.concurrentExecutions)}</td><td>${share(memoryBytes, quota.memoryBytes, memoryText)}</td><td>${share(cores, quota.cores, coresNumber)}</td></tr>`,
  )}</tbody>
</table></div>
<p class="hint">${usages.length > MAX_USERS ? html`<a href="/admin/users?quota=${quota.id}">Show all ${usages.length} users</a>. ` : ''}A quota can be deleted once no user has it.</p>`;
}
