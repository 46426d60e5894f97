/** Follows and decodes the log stream: each frame has one source, a time and a piece of a line. */
import type Docker from 'dockerode';
import { engineError, wrapErrors } from '../docker-error.ts';
import type { OutputRecord } from '../engine.ts';

const HEADER_BYTES = 8;
const STDERR = 2;
const NEWLINE = 10;
const PIECE_BYTES = 16 * 1024;

/** The output of a container from `sinceNs` on. Ends when the container has ended. Throws EngineError. */
export async function* followOutput(
  docker: Docker,
  id: string,
  sinceNs: bigint,
  signal: AbortSignal,
): AsyncGenerator<OutputRecord> {
  const since = `${sinceNs / 1_000_000_000n}.${String(sinceNs % 1_000_000_000n).padStart(9, '0')}`;
  const stream = await wrapErrors(
    docker.getContainer(id).logs({
      follow: true,
      stdout: true,
      stderr: true,
      timestamps: true,
      // The engine reads decimals, which a number of this size cannot represent.
      since: since as unknown as number,
      abortSignal: signal,
    }),
  );
  try {
    yield* outputRecords(stream);
  } catch (error) {
    throw engineError(error);
  }
}

/** The stream must have been requested with timestamps. */
export async function* outputRecords(stream: NodeJS.ReadableStream): AsyncGenerator<OutputRecord> {
  const longLines = new LongLines();
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of stream) {
    rest = rest.length === 0 ? (chunk as Buffer) : Buffer.concat([rest, chunk as Buffer]);
    let at = 0;
    while (rest.length - at >= HEADER_BYTES) {
      const end = at + HEADER_BYTES + rest.readUInt32BE(at + 4);
      if (end > rest.length) break;
      yield longLines.markPartial(readFrame(rest[at] ?? 0, rest.subarray(at + HEADER_BYTES, end)));
      at = end;
    }
    rest = rest.subarray(at);
  }
}

/**
 * The engine cuts a long line into pieces with the same time, and Docker 20.10 ends the last piece without a
 * newline. A shorter piece after a full one therefore counts as the last. This is wrong only for a long line
 * that the process never ended.
 */
class LongLines {
  readonly #cutAtNs = new Map<string, bigint>();

  markPartial(record: OutputRecord): OutputRecord {
    const { source, timeNs, line, partial } = record;
    const continues = this.#cutAtNs.get(source) === timeNs;
    const isCut = partial && line.length >= PIECE_BYTES;
    if (isCut) this.#cutAtNs.set(source, timeNs);
    else this.#cutAtNs.delete(source);
    return { ...record, partial: partial && (isCut || !continues) };
  }
}

function readFrame(source: number, frame: Buffer): OutputRecord {
  const space = frame.indexOf(' ');
  const partial = frame.at(-1) !== NEWLINE;
  return {
    source: source === STDERR ? 'stderr' : 'stdout',
    timeNs: readTimeNs(frame.toString('latin1', 0, space)),
    line: frame.subarray(space + 1, partial ? frame.length : -1),
    partial,
  };
}

/** Parses RFC 3339 with up to nine decimals, in UTC. */
function readTimeNs(text: string): bigint {
  const [seconds = '', decimals = ''] = text.replace(/Z$/, '').split('.');
  return BigInt(Date.parse(`${seconds}Z`)) * 1_000_000n + BigInt(decimals.padEnd(9, '0'));
}
