/**
 * Joins the output of several services into one text: one after the other, each below a line with its name.
 * What can't be read is stated at its place. Reads one log at a time.
 */

import { decodeFrame, FrameSplitter, noteOf } from '../../../../shared/streams/log-frames.ts';
import { OperationError } from '../../../core/model/errors.ts';
import { toOperationError } from '../../../http/json/render.ts';
import type { OpenLog } from '../../../operations/executions/execution-logs.ts';

export interface NamedLog {
  name: string;
  /** As frames (shared/streams/log-frames.ts). */
  open: OpenLog;
}

const encoder = new TextEncoder();
const LINE_FEED = 0x0a;

export function joinedLogs(logs: readonly NamedLog[]): ReadableStream<Uint8Array> {
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  let isCancelled = false;
  const opened = async ({ open }: NamedLog) => {
    reader = (await open()).getReader();
    if (isCancelled) await reader.cancel();
    return reader;
  };
  const pieces = piecesOf(logs, opened);
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await pieces.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    async cancel() {
      isCancelled = true;
      // A pending read ends with it.
      await reader?.cancel().catch(() => {});
      await pieces.return();
    },
  });
}

async function* piecesOf(
  logs: readonly NamedLog[],
  opened: (log: NamedLog) => Promise<ReadableStreamDefaultReader<Uint8Array>>,
): AsyncGenerator<Uint8Array, void, undefined> {
  let isFirst = true;
  for (const log of logs) {
    yield heading(log.name, isFirst);
    isFirst = false;
    let isLineOpen = false;
    let lastStart = 0;
    try {
      for await (const { payload, start, missing } of framesOf(await opened(log))) {
        if (missing !== undefined) {
          yield remark(`the output of start ${missing} is not kept`, isLineOpen);
          isLineOpen = false;
        } else if (payload.byteLength > 0) {
          if (isLineOpen && start !== lastStart) yield encoder.encode('\n');
          lastStart = start;
          yield payload;
          isLineOpen = payload.at(-1) !== LINE_FEED;
        }
      }
    } catch (error) {
      yield remark(readable(error), isLineOpen);
      isLineOpen = false;
    }
    if (isLineOpen) yield encoder.encode('\n');
  }
}

const heading = (name: string, isFirst: boolean) => encoder.encode(`${isFirst ? '' : '\n'}==> ${name} <==\n`);

const remark = (text: string, isLineOpen: boolean) =>
  encoder.encode(`${isLineOpen ? '\n' : ''}==> ${text} <==\n`);

/** Why the rest of a log is missing. Throws what concerns the whole file: the reader has lost access. */
function readable(error: unknown): string {
  const known = toOperationError(error);
  if (known instanceof OperationError && known.code === 'unauthenticated') throw error;
  return known?.message ?? 'the rest could not be read: the connection to its host was interrupted';
}

interface Piece {
  payload: Uint8Array;
  start: number;
  /** The start whose output is not kept. */
  missing?: number;
}

async function* framesOf(reader: ReadableStreamDefaultReader<Uint8Array>): AsyncGenerator<Piece> {
  const splitter = new FrameSplitter();
  for (let part = await reader.read(); !part.done; part = await reader.read())
    for (const bytes of splitter.push(part.value)) {
      const frame = decodeFrame(bytes);
      const note = noteOf(frame);
      if (!note) yield { payload: frame.payload, start: frame.position.generation };
      else if ('missing' in note)
        yield { payload: new Uint8Array(), start: note.missing, missing: note.missing };
      else if ('trouble' in note) throw new OperationError('unavailable', note.trouble);
    }
}
