/** Owns the routes of hosts: parse, call the operation, render. */
import { Hono } from 'hono';
import * as z from 'zod';
import { hostNameSchema } from '../../../shared/protocol/up.ts';
import { getHost, listHosts, removeHost, updateHost } from '../../operations/cluster/hosts.ts';
import { createJoinToken } from '../../operations/cluster/join-tokens.ts';
import type { Context } from '../../operations/context.ts';
import { booleanText, nameFilter } from '../json/account-fields.ts';
import { hostDetailJson, hostJson, hostRemovalJson } from '../json/host-schemas.ts';
import { empty, json } from '../json/render.ts';
import type { JoinTokenJson } from '../json/schemas.ts';
import { checked, type Env, jsonBody, pathId } from '../request.ts';
import { queryOf } from '../resources/resource.ts';
import type { Statuses } from '../words.ts';
import { installLine } from './install.ts';

export const labels = z
  .array(z.string().regex(/^[^\s,]{1,64}$/, 'must be 1 to 64 characters without spaces and commas'))
  .max(50);

/** An agent's BERTH_AGENT_NAME can be no other. */
const hostName = hostNameSchema.regex(/^[A-Za-z0-9][A-Za-z0-9_.-]*$/, 'must be letters, digits, _ . -');

export const joinTokenFields = z.strictObject({ name: hostName.optional(), labels: labels.optional() });

export const hostChanges = z
  .strictObject({
    schedulable: z.boolean().describe('False drains it: elastic services leave, essential ones stay'),
    labels: labels.describe("The administrator's own, besides those of its agent"),
    force: z.boolean().describe('With schedulable false: essential services leave, too'),
  })
  .partial();

export const hostFilter = nameFilter;

export const hostRemoval = z
  .strictObject({ force: booleanText.describe('Also one that is away, but not lost yet') })
  .partial();

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
