/** Routes of hosts: parse, call the operation, render. */
import { Hono } from 'hono';
import { getHost, listHosts, removeHost, updateHost } from '../../operations/cluster/hosts.ts';
import { createJoinToken } from '../../operations/cluster/join-tokens.ts';
import type { Context } from '../../operations/context.ts';
import { hostDetailJson, hostJson, hostRemovalJson } from '../json/host-schemas.ts';
import { empty, json } from '../json/render.ts';
import { hostChanges, hostFilter, hostRemoval, joinTokenFields } from '../json/request-schemas.ts';
import type { JoinTokenJson } from '../json/schemas.ts';
import { checked, type Env, jsonBody, pathId, queryOf } from '../request.ts';
import type { Statuses } from '../words.ts';
import { installLine } from './install.ts';

export function hostRoutes(
  deps: Context & { nowMs(): number },
  { created, removed }: Pick<Statuses, 'created' | 'removed'>,
): Hono<Env> {
  const routes = new Hono<Env>();
  routes.post('/token', async (c) => {
    const input = async () => checked(joinTokenFields, await jsonBody(c), 'body');
    const { token, expiresMs } = await createJoinToken(deps, c.get('actor'), input, deps.nowMs());
    const install = installLine(c, token);
    const answer: JoinTokenJson = { token, expires_at: expiresMs / 1_000, ...(install && { install }) };
    return json(answer, created);
  });
  routes.get('/', async (c) => {
    const filter = async () => checked(hostFilter, queryOf(c), 'filter');
    const all = await listHosts(deps, c.get('actor'), filter);
    return json(Object.fromEntries(all.map((host) => [host.id, hostJson(host)])));
  });
  routes.get('/:id', async (c) => {
    return json({ host: hostDetailJson(await getHost(deps, c.get('actor'), pathId(c, 'id'))) });
  });
  routes.post('/:id', async (c) => {
    const input = async () => checked(hostChanges, await jsonBody(c), 'body');
    await updateHost(deps, c.get('actor'), pathId(c, 'id'), input);
    return empty(created);
  });
  routes.delete('/:id', async (c) => {
    const input = async () => checked(hostRemoval, queryOf(c), 'query');
    const removal = await removeHost(deps, c.get('actor'), pathId(c, 'id'), input);
    return removed === 204 ? empty(removed) : json(hostRemovalJson(removal, deps.deploymentName), removed);
  });
  return routes;
}
