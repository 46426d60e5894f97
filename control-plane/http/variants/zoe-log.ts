/**
 * Output of a service as lines of text: a header, then each line after its time (API-5). Clients of this
 * platform decode UTF-8, split the text into lines, and split each line at its first space. A line without a
 * space makes them stop.
 */
import type { Actor } from '../../core/accounts/account.ts';
import { OperationError } from '../../core/model/errors.ts';
import { isEnded } from '../../core/model/execution.ts';
import type { Context } from '../../operations/context.ts';
import { getExecution } from '../../operations/executions/reads.ts';
import { getService, openServiceLog } from '../../operations/executions/services.ts';
import { textStream } from '../text-stream.ts';

/** Output of a service with the time (UTC) before each line, as UTF-8. It ends after the last byte. */
export async function openLines(
  context: Context,
  actor: Actor,
  serviceId: number,
): Promise<ReadableStream<Uint8Array>> {
  const { hostName, executionId } = await getService(context, actor, serviceId);
  if (hostName === null && isEnded(await getExecution(context, actor, executionId)))
    throw new OperationError('not-found', 'The service has never started, so there is no log.');
  const log = await openServiceLog(context, actor, serviceId, 'timestamps');
  return linesOf(log, () => headerOf(context, actor, serviceId));
}

/**
 * Calls `header` before the first byte and, if it returned undefined, once more at the first output. The
 * source is read on demand only. Bytes that are not UTF-8 become U+FFFD; a carriage return becomes a space,
 * because clients would end the line there.
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
  const firstHeader = await header();
  if (firstHeader !== undefined) yield firstHeader;
  let lacksHeader = firstHeader === undefined;
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    const text = decoder.decode(part.value, { stream: true }).replaceAll('\r', ' ');
    // The chunk held only a part of one character.
    if (text === '') continue;
    yield lacksHeader ? `${(await header()) ?? ''}${text}` : text;
    lacksHeader = false;
  }
  const rest = decoder.decode();
  if (rest !== '') yield rest;
}

/** Undefined until the service has been placed on a host, and after its deletion. */
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
