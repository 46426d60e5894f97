/**
 * Owns output as lines of text: a header, then each line behind its time. Clients of this platform split what they get
 * into lines and each line at its first space, and read it as UTF-8; a line without a space ends them.
 */
import type { Actor } from '../../core/accounts/account.ts';
import { OperationError } from '../../core/model/errors.ts';
import type { Context } from '../../operations/context.ts';
import { getService, openServiceLog } from '../../operations/executions/services.ts';
import { textStream } from '../text-stream.ts';

/** Output of a service with the time (UTC) before each line, as UTF-8; ends when no more will come. */
export async function openLines(
  context: Context,
  actor: Actor,
  serviceId: number,
): Promise<ReadableStream<Uint8Array>> {
  const log = await openServiceLog(context, actor, serviceId, 'timestamps');
  return linesOf(log, () => headerOf(context, actor, serviceId));
}

/**
 * `header` is asked for before the first byte and, where it did not know one, once more when there is output. Reads on only
 * as it is read. What is no UTF-8 becomes U+FFFD, a carriage return a space: clients take it for the end of a line.
 */
export const linesOf = (
  log: ReadableStream<Uint8Array>,
  header: () => Promise<string | undefined>,
): ReadableStream<Uint8Array> => textStream(log, (reader) => textsOf(reader, header));

async function* textsOf(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  header: () => Promise<string | undefined>,
): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: false, ignoreBOM: true });
  const early = await header();
  if (early !== undefined) yield early;
  let late = early === undefined;
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    const text = decoder.decode(part.value, { stream: true }).replaceAll('\r', ' ');
    // A piece of one character.
    if (text === '') continue;
    yield late ? `${(await header()) ?? ''}${text}` : text;
    late = false;
  }
  const rest = decoder.decode();
  if (rest !== '') yield rest;
}

/** Undefined while the service has not been on a host, and where it was deleted meanwhile. */
async function headerOf(context: Context, actor: Actor, serviceId: number): Promise<string | undefined> {
  try {
    const { name, hostName } = await getService(context, actor, serviceId);
    return hostName === null
      ? undefined
      : `ZOE HEADER: log file for service ${name} running on host ${hostName}\n`;
  } catch (error) {
    if (error instanceof OperationError && error.code === 'not-found') return undefined;
    throw error;
  }
}
