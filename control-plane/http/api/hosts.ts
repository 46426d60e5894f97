/** Routes of hosts and of the tokens with which they join. */
import * as z from 'zod';
import { viewHost } from '../../operations/cluster/cluster.ts';
import { getHost, listHosts, removeHost, updateAgent, updateHost } from '../../operations/cluster/hosts.ts';
import { createJoinToken } from '../../operations/cluster/join-tokens.ts';
import { keyOf } from '../idempotency.ts';
import { installInstructions, readRelease } from '../install.ts';
import {
  type AgentUpdateJson,
  agentUpdateSchema,
  hostDetailJson,
  hostDetailSchema,
  hostJson,
  hostRemovalJson,
  hostRemovalSchema,
  hostSchema,
  type JoinTokenJson,
  joinTokenSchema,
} from '../json/host-schemas.ts';
import { empty, json } from '../json/render.ts';
import { hostChanges, hostFilter, hostRemoval, joinTokenFields } from '../json/request-schemas.ts';
import { hostUsageJson, hostUsageSchema } from '../json/usage-schemas.ts';
import { checked, pathId, queryOf } from '../request.ts';
import type { Route } from './route.ts';

const common = { tag: 'Hosts', access: 'user' } as const;

export const hostRoutes: readonly Route[] = [
  {
    ...common,
    method: 'post',
    path: '/host/token',
    id: 'createJoinToken',
    summary: 'Create a token with which one agent can join as one host within an hour',
    description:
      'The answer also has the command that installs the agent on a machine. A token admits one agent, once.',
    body: joinTokenFields,
    isMadeOnce: true,
    answer: joinTokenSchema,
    errors: [409],
    async handle(c, deps) {
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
      return json(answer, deps.variant.created);
    },
  },
  {
    ...common,
    method: 'get',
    path: '/host',
    id: 'listHosts',
    summary: 'List hosts by id',
    description: 'The role must allow to see the cluster. Hosts that were removed are not in the list.',
    query: hostFilter,
    answer: z.record(z.string(), hostSchema),
    errors: [],
    async handle(c, deps) {
      const filter = async () => checked(hostFilter, queryOf(c), 'filter');
      const all = await listHosts(deps, c.get('actor'), filter);
      return json(Object.fromEntries(all.map((host) => [host.id, hostJson(host)])));
    },
  },
  {
    ...common,
    method: 'get',
    path: '/host/:id',
    id: 'getHost',
    summary: 'Read a host, with its services',
    description: 'The services are those that are placed there, or whose containers may still be there.',
    answer: z.strictObject({ host: hostDetailSchema.describe('The host') }),
    errors: [404],
    handle: async (c, deps) =>
      json({ host: hostDetailJson(await getHost(deps, c.get('actor'), pathId(c, 'id'))) }),
  },
  {
    ...common,
    isNative: true,
    method: 'get',
    path: '/host/:id/usage',
    id: 'getHostUsage',
    summary: 'Read what was reserved and in use on a host over the last hour',
    description: 'The last sample is of now.',
    answer: hostUsageSchema,
    errors: [404],
    handle: async (c, deps) => json(hostUsageJson(await viewHost(deps, c.get('actor'), pathId(c, 'id')))),
  },
  {
    ...common,
    method: 'post',
    path: '/host/:id',
    id: 'changeHost',
    summary: 'Drain a host, make it schedulable again, set its labels, or accept what it offers',
    description:
      'Only the fields of the body are changed. Draining keeps essential services, unless `force` is set.',
    body: hostChanges,
    answer: 'empty',
    errors: [404, 409],
    async handle(c, deps) {
      const input = async () => {
        const { accept, ...changes } = checked(hostChanges, await deps.bodies.json(c), 'body');
        return accept
          ? { ...changes, accept: { labels: accept.labels, memoryBytes: accept.memory, cores: accept.cores } }
          : changes;
      };
      await updateHost(deps, c.get('actor'), pathId(c, 'id'), input);
      return empty(deps.variant.created);
    },
  },
  {
    ...common,
    method: 'post',
    path: '/host/:id/update',
    id: 'updateAgent',
    summary: "Request that a host's agent updates itself; the host then states its version, or why it failed",
    description: 'The answer does not wait for the update. The containers of the host keep running.',
    answer: agentUpdateSchema,
    errors: [404, 409],
    async handle(c, deps) {
      const release = () => readRelease(deps.agentFile);
      const { version, isRequested } = await updateAgent(deps, c.get('actor'), pathId(c, 'id'), release);
      return json({ version, requested: isRequested } satisfies AgentUpdateJson);
    },
  },
  {
    ...common,
    method: 'delete',
    path: '/host/:id',
    id: 'removeHost',
    summary: 'Remove a host that has no services or is lost',
    description:
      'Its key is worth nothing from then on. Executions with services on a lost host return to the queue.',
    query: hostRemoval,
    answer: hostRemovalSchema,
    errors: [404, 409],
    async handle(c, deps) {
      const { removed } = deps.variant;
      const input = async () => checked(hostRemoval, queryOf(c), 'query');
      const removal = await removeHost(deps, c.get('actor'), pathId(c, 'id'), input);
      return removed === 204 ? empty(removed) : json(hostRemovalJson(removal, deps.deploymentName), removed);
    },
  },
];
