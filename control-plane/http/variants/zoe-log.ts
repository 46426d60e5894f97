/**
 * Output of a service as lines of text: a header, then each line after its time (API-5). Clients of this
 * platform decode UTF-8, split the text into lines, and split each line at its first space. A line without a
 * space makes them stop.
 */
import type { Actor } from '../../core/accounts/account.ts';
import { OperationError } from '../../core/model/errors.ts';
import { isEnded } from '../../core/model/execution.ts';
import type { ServiceView } from '../../core/views/execution-views.ts';
import type { Context } from '../../operations/context.ts';
import { readableService } from '../../operations/executions/reads.ts';
import { getService, openReadableLog } from '../../operations/executions/services.ts';
import { textStream } from '../text-stream.ts';

/** In place of the rest of a log whose reader may not read on (H170). */
const LAST_LINE =
  'ZOE FOOTER: your session or permissions have changed; log in again to read the rest of this log';

/** Output of a service with the time (UTC) before each line, as UTF-8. It ends after the last byte. */
export async function openLines(
  context: Context,
  actor: Actor,
  serviceId: number,
): Promise<ReadableStream<Uint8Array>> {
  const readable = await readableService(context, actor, serviceId);
  const { service } = readable;
  if (service.hostName === null && isEnded(service.execution))
    throw new OperationError('not-found', 'The service has never started, so there is no log.');
  const log = await openReadableLog(context, readable, 'timestamps', LAST_LINE);
  return linesOf(log, headerOf(service), () => readHeader(context, actor, serviceId));
}

/**
 * `header` comes before the first byte. If it is undefined, `readHeader` is called at the first output. The
 * source is read on demand only. Bytes that are not UTF-8 become U+FFFD; a carriage return becomes a space,
 * because clients would end the line there.
 */
export const linesOf = (
  log: ReadableStream<Uint8Array>,
  header: string | undefined,
  readHeader: () => Promise<string | undefined>,
): ReadableStream<Uint8Array> => textStream(log, (reader) => textsOf(reader, header, readHeader));

async function* textsOf(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  header: string | undefined,
  readHeader: () => Promise<string | undefined>,
): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: false, ignoreBOM: true });
  if (header !== undefined) yield header;
  let lacksHeader = header === undefined;
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    const text = decoder.decode(part.value, { stream: true }).replaceAll('\r', ' ');
    // The chunk held only a part of one character.
    if (text === '') continue;
    yield lacksHeader ? `${(await readHeader()) ?? ''}${text}` : text;
    lacksHeader = false;
  }
  const rest = decoder.decode();
  if (rest !== '') yield rest;
}

/** Undefined until the service has been placed on a host. */
const headerOf = ({ name, hostName }: Pick<ServiceView, 'name' | 'hostName'>): string | undefined =>
  hostName === null ? undefined : `ZOE HEADER: log file for service ${name} running on host ${hostName}\n`;

/** Undefined also after the deletion of the service. */
async function readHeader(context: Context, actor: Actor, serviceId: number): Promise<string | undefined> {
  try {
    return headerOf(await getService(context, actor, serviceId));
  } catch (error) {
    if (error instanceof OperationError && error.code === 'not-found') return undefined;
    throw error;
  }
}
