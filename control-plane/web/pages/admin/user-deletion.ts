/** The page that asks before a user is deleted, and states what is deleted with the user. */
import { Hono } from 'hono';
import type { User } from '../../../core/accounts/account.ts';
import { pathId } from '../../../http/request.ts';
import { countExecutions, deleteUser, getUser } from '../../../operations/accounts/users.ts';
import { html } from '../../components/html.ts';
import { redirectAfter } from '../../components/notice.ts';
import type { WebContext, WebDeps, WebEnv } from '../../context.ts';
import { adminPage } from './admin-page.ts';

export function userDeletionPages(deps: WebDeps): Hono<WebEnv> {
  const routes = new Hono<WebEnv>();
  routes.get('/:id/delete', async (c) => {
    const user = await getUser(deps, c.get('actor'), pathId(c, 'id'));
    return deletionPage(c, user, await countExecutions(deps, c.get('actor'), user.id));
  });
  routes.post('/:id/delete', async (c) => {
    const user = await getUser(deps, c.get('actor'), pathId(c, 'id'));
    return redirectAfter(c, '/admin/users', `User ${user.username} was deleted.`, () =>
      deleteUser(deps, c.get('actor'), user.id),
    );
  });
  return routes;
}

const deletionPage = (
  c: WebContext,
  { id, username, fsUid, workspace = username }: User,
  { executions, unended }: { executions: number; unended: number },
): Promise<Response> =>
  adminPage(c, {
    title: `Delete ${username}`,
    body: html`
<form class="card" method="post" action="/admin/users/${id}/delete">
<h1>Delete ${username}?</h1>
<p>${deletionText(executions, unended)}</p>
<p>What stays behind: the files of the user in workspaces, volumes and images on hosts, which Berth never removes. No other user gets
their number (${String(fsUid)}) or their workspace (<code>${workspace}</code>), though the user name can be given again. This can't be undone.</p>
<div class="bar"><button class="danger">Delete user</button><a class="button" href="/admin/users/${id}">Cancel</a></div>
</form>`,
  });

function deletionText(executions: number, unended: number): string {
  if (executions === 0) return 'The user has no executions.';
  const deleted = executions === 1 ? '1 execution and its logs' : `${executions} executions and their logs`;
  const ends =
    unended === 0
      ? ''
      : ` ${unended} of them ${unended === 1 ? 'has' : 'have'} not ended and will be terminated first.`;
  return `Also deletes ${deleted}.${ends}`;
}
