/** Routes of hosts: parse, call the operation, render. */
import { Hono } from 'hono';
import { viewHost } from '../../operations/cluster/cluster.ts';
import { getHost, listHosts, removeHost, updateAgent, updateHost } from '../../operations/cluster/hosts.ts';
import { createJoinToken } from '../../operations/cluster/join-tokens.ts';
import type { Context } from '../../operations/context.ts';
import type { BodyReader } from '../bodies/body-reader.ts';
import { keyOf } from '../idempotency.ts';
import type { JoinTokenJson } from '../json/host-schemas.ts';
import { type AgentUpdateJson, hostDetailJson, hostJson, hostRemovalJson } from '../json/host-schemas.ts';
import { empty, json } from '../json/render.ts';
import { hostChanges, hostFilter, hostRemoval, joinTokenFields } from '../json/request-schemas.ts';
import { hostUsageJson } from '../json/usage-schemas.ts';
import { checked, type Env, pathId, queryOf } from '../request.ts';
import type { Routes } from '../variants/variant.ts';
import type { Statuses } from '../words.ts';
import { type InstallSources, installInstructions, readRelease } from './install.ts';

export function hostRoutes(
  deps: Context & { bodies: BodyReader } & InstallSources,
  { created, removed, usage }: Pick<Statuses, 'created' | 'removed'> & Pick<Routes, 'usage'>,
): Hono<Env> {
  const routes = new Hono<Env>();
  routes.post('/token', async (c) => {
    let name: string | undefined;
    const input = async () => {
      const fields = checked(joinTokenFields, await deps.bodies.json(c), 'body');
      name = fields.name;
      return fields;
    };
    const { token, expiresMs } = await createJoinToken(deps, c.get('actor'), input, keyOf(c));
    const { checksum, line, warning } = await installInstructions(c, { token, name }, deps);
    const answer: JoinTokenJson = {
      token,
      expires_at: expiresMs / 1_000,
      agent_sha256: checksum,
      ...(line && { install: line }),
      ...(warning && { warning }),
    };
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
  if (usage)
    routes.get('/:id/usage', async (c) => {
      return json(hostUsageJson(await viewHost(deps, c.get('actor'), pathId(c, 'id'))));
    });
  routes.post('/:id', async (c) => {
    const input = async () => {
      const { accept, ...changes } = checked(hostChanges, await deps.bodies.json(c), 'body');
      return accept
        ? { ...changes, accept: { labels: accept.labels, memoryBytes: accept.memory, cores: accept.cores } }
        : changes;
    };
    await updateHost(deps, c.get('actor'), pathId(c, 'id'), input);
    return empty(created);
  });
  routes.post('/:id/update', async (c) => {
    const release = () => readRelease(deps.agentFile);
    const { version, isRequested } = await updateAgent(deps, c.get('actor'), pathId(c, 'id'), release);
    return json({ version, requested: isRequested } satisfies AgentUpdateJson);
  });
  routes.delete('/:id', async (c) => {
    const input = async () => checked(hostRemoval, queryOf(c), 'query');
    const removal = await removeHost(deps, c.get('actor'), pathId(c, 'id'), input);
    return removed === 204 ? empty(removed) : json(hostRemovalJson(removal, deps.deploymentName), removed);
  });
  return routes;
}
