/**
 * What clients of streams and the control plane send one another besides bytes, as text frames of JSON in the
 * subprotocol `berth.stream.v1` (docs/streams.md). Bytes travel as binary frames.
 */
import * as z from 'zod';
import {
  execSchema,
  filesInSchema,
  filesOutSchema,
  MAX_EXEC_LENGTH,
  type StreamTarget,
  streamSignals,
  terminalSizeSchema,
} from './targets.ts';

export const STREAM_SUBPROTOCOL = 'berth.stream.v1';

/** Longer text frames of clients are refused, and longer first ones. */
export const MAX_CLIENT_TEXT = 256;
const MAX_REQUEST_TEXT = 8 * MAX_EXEC_LENGTH;

/** What a path is for. */
export type StreamPurpose = 'exec' | 'forward' | 'files';

const execRequestSchema = execSchema.omit({ kind: true }).extend({
  type: z.literal('exec'),
  /** Whether the stream is to outlive a connection that is lost. */
  resume: z.boolean().optional(),
});

/** Continues a stream whose connection was lost, at the same path. */
const resumptionSchema = z.object({
  type: z.literal('resume'),
  /** From `opened`. */
  session: z.string().max(64),
  /** So many bytes of output have arrived in all. */
  received: z.int().nonnegative(),
});
export type StreamResumption = z.infer<typeof resumptionSchema>;

/** The first text frame of a client. */
const requestSchema = z.discriminatedUnion('type', [
  execRequestSchema,
  resumptionSchema,
  z.object({ type: z.literal('forward'), port: z.int().min(1).max(65_535) }),
  filesOutSchema.omit({ kind: true }).extend({ type: z.literal('files-out') }),
  filesInSchema.omit({ kind: true }).extend({ type: z.literal('files-in') }),
]);
export type StreamFirst = z.infer<typeof requestSchema>;
export type StreamOpening = Exclude<StreamFirst, StreamResumption>;

/** Undefined if the text is not a request of that purpose. */
export function decodeRequest(purpose: StreamPurpose, text: string): StreamFirst | undefined {
  const request = text.length > MAX_REQUEST_TEXT ? undefined : parsed(requestSchema, text);
  return request && purposeOf[request.type] === purpose ? request : undefined;
}

const purposeOf: Record<StreamFirst['type'], StreamPurpose> = {
  exec: 'exec',
  resume: 'exec',
  forward: 'forward',
  'files-out': 'files',
  'files-in': 'files',
};

export function targetOf(request: StreamOpening): StreamTarget {
  if (request.type === 'forward') return { kind: 'tcp', port: request.port };
  if (request.type === 'exec') {
    const { type: kind, resume: _, ...command } = request;
    return { kind, ...command };
  }
  const { type: kind, ...rest } = request;
  return { kind, ...rest } as StreamTarget;
}

const clientSchema = z.discriminatedUnion('type', [
  /** All that came before this mark was used. */
  z.object({ type: z.literal('read'), mark: z.string().max(64) }),
  /** No more bytes follow. */
  z.object({ type: z.literal('end') }),
  terminalSizeSchema.extend({ type: z.literal('resize') }),
  z.object({ type: z.literal('signal'), signal: z.enum(streamSignals) }),
]);
export type ClientMessage = z.infer<typeof clientSchema>;

/** Undefined if the text does not match. */
export const decodeClient = (text: string): ClientMessage | undefined =>
  text.length > MAX_CLIENT_TEXT ? undefined : parsed(clientSchema, text);

const bytes = z.int().positive();

export const serverSchema = z.discriminatedUnion('type', [
  /** The target is connected. The client may send `credit` bytes for now. With `session` it may resume. */
  z.object({ type: z.literal('opened'), credit: bytes, session: z.string().optional() }),
  /** So many bytes of the client have arrived in all; it sends the others again, and may send `credit`. */
  z.object({ type: z.literal('resumed'), taken: z.int().nonnegative(), credit: z.int().nonnegative() }),
  z.object({ type: z.literal('credit'), bytes }),
  /** The client must return it with `read`, or the stream soon stands still. */
  z.object({ type: z.literal('mark'), mark: z.string() }),
  /** No more bytes follow. With the exit code of a command, the stream is over. */
  z.object({ type: z.literal('end'), exit_code: z.int().optional() }),
  /** The stream is over, for this reason. */
  z.object({ type: z.literal('reset'), message: z.string() }),
]);
export type ServerMessage = z.infer<typeof serverSchema>;

function parsed<T>(schema: z.ZodType<T>, text: string): T | undefined {
  try {
    return schema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
