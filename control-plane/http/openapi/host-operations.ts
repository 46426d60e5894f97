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
      summary: 'Create a token with which one agent can join as one host within an hour',
      body: joinTokenFields,
      isMadeOnce: true,
      answer: joinTokenSchema,
      errors: [400, 409, 413],
    },
    {
      ...common,
      method: 'get',
      path: '/host',
      summary: 'List hosts by id',
      query: hostFilter,
      answer: z.record(z.string(), hostSchema),
      errors: [400],
    },
    {
      ...common,
      method: 'get',
      path: '/host/:id',
      summary: 'Read a host, with its services',
      answer: z.strictObject({ host: hostDetailSchema }),
      errors: [404],
    },
    {
      ...common,
      isNative: true,
      method: 'get',
      path: '/host/:id/usage',
      summary: 'Read what was reserved and in use on a host over the last hour',
      answer: hostUsageSchema,
      errors: [404],
    },
    {
      ...common,
      method: 'post',
      path: '/host/:id',
      summary: 'Drain a host, make it schedulable again, set its labels, or accept what it offers',
      body: hostChanges,
      answer: 'empty',
      errors: [400, 404, 409, 413],
    },
    {
      ...common,
      method: 'post',
      path: '/host/:id/update',
      summary:
        "Request that a host's agent updates itself; the host then states its version, or why it failed",
      answer: agentUpdateSchema,
      errors: [404, 409],
    },
    {
      ...common,
      method: 'delete',
      path: '/host/:id',
      summary: 'Remove a host that has no services or is lost',
      query: hostRemoval,
      answer: hostRemovalSchema,
      errors: [400, 404, 409],
    },
  ];
}
