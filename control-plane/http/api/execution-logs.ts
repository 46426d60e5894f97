/** Output of services of an execution as frames (shared/streams/log-frames.ts), from given positions on. */

import * as z from 'zod';
import type { LogPosition } from '../../../shared/streams/log-frames.ts';
import { type LogFormat, MAX_TAIL_LINES } from '../../../shared/streams/targets.ts';
import { type Actor, authorise } from '../../core/accounts/account.ts';
import { OperationError } from '../../core/model/errors.ts';
import type { Context } from '../../operations/context.ts';
import { openExecutionLogs } from '../../operations/executions/execution-logs.ts';
import { pathId } from '../request.ts';
import { mergedLogs } from './merged-logs.ts';
import type { Route } from './route.ts';

/** Services in one stream: each costs a window of memory here and on its host. */
export const MAX_SERVICES = 16;

/** Headers of a stream of output. */
export const STREAM_HEADERS = {
  'cache-control': 'no-store, no-transform',
  // Compression would delay output until its buffer is full.
  'content-encoding': 'identity',
  'x-content-type-options': 'nosniff',
  // Proxies would buffer a stream with little output.
  'x-accel-buffering': 'no',
};

const logsQuery = z.strictObject({
  from: z
    .string()
    .describe('SERVICE.GENERATION.OFFSET of each service, separated by commas; ID.1.0: from its beginning'),
  timestamps: z.boolean().optional().describe('Whether each line begins with its time'),
  follow: z.boolean().optional().describe('False: the stream ends after the output that there is now'),
  tail: z
    .int()
    .min(1)
    .max(MAX_TAIL_LINES)
    .optional()
    .describe('Only so many last lines of the last start of each service'),
});

export const executionLogsRoute: Route = {
  tag: 'Executions',
  access: 'work',
  isNative: true,
  method: 'get',
  path: '/execution/:id/logs',
  id: 'readExecutionLogs',
  summary: 'Read the output of up to 16 services of an execution in one stream, from given positions on',
  description:
    'A frame has 20 bytes in network order: the id of the service (4), the number of its start (4), the ' +
    'position after this output (8, a floating-point number) and the length (4); then the output. If the ' +
    'number of the start is 0, a note follows as JSON: ended, missing or trouble. A frame of service 0 only ' +
    'shows that the stream is alive, and comes at least every 15 s.',
  query: logsQuery,
  answer: 'frames',
  errors: [404],
  handle: (c, deps) =>
    executionLogs(deps, {
      actor: c.get('actor'),
      executionId: pathId(c, 'id'),
      from: c.req.query('from'),
      format: c.req.query('timestamps') === 'true' ? 'timestamps' : 'raw',
      follow: c.req.query('follow'),
      tail: c.req.query('tail'),
      isHead: c.req.method === 'HEAD',
    }),
};

export interface LogsRequest {
  actor: Actor;
  executionId: number;
  /** `SERVICE.GENERATION.OFFSET` of each service, separated by commas. */
  from: string | undefined;
  format: LogFormat;
  /** `false`: what there is at present. */
  follow?: string | undefined;
  /** How many last lines of each service. */
  tail?: string | undefined;
  /** Whether only the head is wanted: it has no subscriber for the stream. */
  isHead: boolean;
}

export async function executionLogs(
  context: Context,
  { actor, executionId, from = '', format, follow, tail, isHead }: LogsRequest,
): Promise<Response> {
  // An anonymous request is refused before its query is read.
  authorise(actor, { kind: 'login' });
  const opens = await openExecutionLogs(context, actor, executionId, positionsOf(from), format, {
    ...(follow === 'false' && { follow: false }),
    ...(tail !== undefined && { tail: linesOf(tail) }),
  });
  return new Response(isHead ? null : mergedLogs(opens), {
    headers: { ...STREAM_HEADERS, 'content-type': 'application/octet-stream' },
  });
}

function linesOf(text: string): number {
  const lines = /^[1-9]\d{0,8}$/.test(text) ? Number(text) : 0;
  if (lines > 0 && lines <= MAX_TAIL_LINES) return lines;
  throw new OperationError('invalid', `"tail" must be a number of lines from 1 to ${MAX_TAIL_LINES}.`);
}

function positionsOf(text: string): Map<number, LogPosition> {
  const parts = text.split(',');
  const positions = new Map<number, LogPosition>();
  for (const part of parts) {
    const [, service, generation, offset] = /^(\d{1,15})\.([1-9]\d{0,8})\.(\d{1,15})$/.exec(part) ?? [];
    if (service === undefined || parts.length > MAX_SERVICES) {
      const form = 'SERVICE.GENERATION.OFFSET';
      throw new OperationError(
        'invalid',
        `"from" must be a list of at most ${MAX_SERVICES} ${form}, separated by commas.`,
      );
    }
    positions.set(Number(service), { generation: Number(generation), offset: Number(offset) });
  }
  return positions;
}
