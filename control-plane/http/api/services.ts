/** Routes of services and of their output. */
import * as z from 'zod';
import type { Actor } from '../../core/accounts/account.ts';
import { requirementOf } from '../../core/model/resources.ts';
import { appAddresses } from '../../operations/app-addresses.ts';
import type { Context } from '../../operations/context.ts';
import { describeService, getService, openServiceLog } from '../../operations/executions/services.ts';
import { readServiceUsage } from '../../operations/executions/usage.ts';
import { json } from '../json/render.ts';
import { serviceViewSchema } from '../json/service-schemas.ts';
import { usageJson, usageSchema } from '../json/usage-schemas.ts';
import { pathId } from '../request.ts';
import { STREAM_HEADERS } from './execution-logs.ts';
import type { Route } from './route.ts';
import { streamHandler } from './streams.ts';

const common = { tag: 'Services', access: 'work' } as const;

const STREAM_ERRORS = [404, 409, 426];

/** `read`: the service that the variant then renders. */
export const serviceAnswer =
  (read: typeof getService): Route['handle'] =>
  async (c, deps) => {
    const service = await read(deps, c.get('actor'), pathId(c, 'id'));
    return json(deps.variant.serviceJson(service, await appAddresses(deps), deps.nowMs()));
  };

/** `open`: opens the output from its first byte; it ends after the last byte. */
export const serviceLog =
  (
    open: (context: Context, actor: Actor, serviceId: number) => Promise<ReadableStream<Uint8Array>>,
  ): Route['handle'] =>
  async (c, deps) => {
    const [actor, id] = [c.get('actor'), pathId(c, 'id')];
    // HEAD opens no log: workerd would keep it open at the agent until the next output.
    const log =
      c.req.method === 'HEAD'
        ? await getService(deps, actor, id).then(() => null)
        : await open(deps, actor, id);
    return new Response(log, {
      headers: { ...STREAM_HEADERS, 'content-type': 'text/plain; charset=utf-8' },
    });
  };

export const serviceRoutes: readonly Route[] = [
  {
    ...common,
    method: 'get',
    path: '/service/:id',
    id: 'getService',
    summary: 'Read a service',
    description: 'A service is one container of an execution, with its state as its host last reported it.',
    answer: serviceViewSchema,
    errors: [404],
    handle: serviceAnswer(describeService),
  },
  {
    ...common,
    method: 'get',
    path: '/service/logs/:id',
    id: 'readServiceLog',
    summary: 'Read the output of a service from its first byte, live until it ends',
    description:
      'Standard output and standard error of all starts, in the order in which they were written. The stream ends with the service.',
    answer: 'log',
    errors: [404],
    handle: serviceLog((deps, actor, id) => openServiceLog(deps, actor, id, 'raw')),
  },
  {
    ...common,
    isNative: true,
    method: 'get',
    path: '/service/:id/usage',
    id: 'getServiceUsage',
    summary: 'Read the memory and the cores that the last start of a service used, over its whole life',
    description: 'The samples lie closer for a short life than for a long one.',
    answer: usageSchema,
    errors: [404],
    async handle(c, deps) {
      const { service, usage } = await readServiceUsage(deps, c.get('actor'), pathId(c, 'id'));
      return json(usageJson(usage, requirementOf(service.description)));
    },
  },
  // WebSockets to commands, ports and files of services (docs/streams.md).
  {
    ...common,
    method: 'get',
    path: '/service/:id/exec',
    id: 'execInService',
    summary: 'Run a command in a service, over a WebSocket',
    description:
      'The first message has the command and whether it gets a terminal. The role must allow commands in services.',
    answer: 'websocket',
    errors: STREAM_ERRORS,
    handle: streamHandler('exec'),
  },
  {
    ...common,
    method: 'get',
    path: '/service/:id/forward',
    id: 'forwardPort',
    summary: 'Connect to a TCP port of a service, over a WebSocket',
    description: 'The first message has the port. The port need not be published.',
    answer: 'websocket',
    errors: STREAM_ERRORS,
    handle: streamHandler('forward'),
  },
  {
    ...common,
    method: 'get',
    path: '/service/:id/files',
    id: 'copyFiles',
    summary: 'Copy files of a service over a WebSocket; with path in the query, download one',
    description:
      'With an upgrade, the first message says whether files are read or written. Without an upgrade, `path` names what is downloaded.',
    query: z
      .strictObject({
        path: z.string().max(4_096).describe('Without an upgrade: the absolute path of what is downloaded'),
        form: z
          .enum(['file', 'tar'])
          .describe('The content of a file, or a tar archive of a file or a folder'),
      })
      .partial(),
    answer: 'websocket or file',
    errors: STREAM_ERRORS,
    handle: streamHandler('files'),
  },
];
