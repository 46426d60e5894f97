/** Operations on hosts for the OpenAPI document. */
import * as z from 'zod';
import {
  agentUpdateSchema,
  hostDetailSchema,
  hostRemovalSchema,
  hostSchema,
  joinTokenSchema,
} from '../json/host-schemas.ts';
import { hostChanges, hostFilter, hostRemoval, joinTokenFields } from '../json/request-schemas.ts';
import { hostUsageSchema } from '../json/usage-schemas.ts';
import type { Operation, Scheme } from './operation.ts';

export function hostOperations(access: readonly Scheme[]): Operation[] {
  const common = { tag: 'Hosts', access };
  return [
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
    },
    {
      ...common,
      method: 'post',
      path: '/host/:id/update',
      id: 'updateAgent',
      summary:
        "Request that a host's agent updates itself; the host then states its version, or why it failed",
      description: 'The answer does not wait for the update. The containers of the host keep running.',
      answer: agentUpdateSchema,
      errors: [404, 409],
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
    },
  ];
}
