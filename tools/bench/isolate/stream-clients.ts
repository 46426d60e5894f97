/** Clients that keep streams open: each opens its stream again when it ends, as a browser does. */
import { setTimeout as pause } from 'node:timers/promises';

const REOPEN_MS = 500;

export interface StreamClients {
  /** Clients that have received something on their present stream. */
  connected(): number;
  /** Bytes that all have received since the last call. */
  takeBytes(): number;
  /** Closes all streams. Throws what went wrong beside lost connections. */
  close(): Promise<void>;
}

interface Stream {
  path: string;
  cookie: string;
}

/** `again` is called when a stream was opened again, after its first bytes. */
export function openStreams(
  url: string,
  streams: readonly Stream[],
  again: (stream: Stream) => Promise<unknown> = async () => {},
): StreamClients {
  const end = new AbortController();
  const connected = new Set<number>();
  let bytes = 0;
  const read = async (stream: Stream, at: number, isFirst: boolean, lastEventId: string) => {
    const headers = { cookie: stream.cookie, ...(lastEventId !== '' && { 'last-event-id': lastEventId }) };
    const response = await fetch(`${url}/api/0.7/${stream.path}`, { headers, signal: end.signal });
    if (!response.ok) throw new Error(`${stream.path}: ${response.status} ${await response.text()}`);
    const decoder = new TextDecoder();
    let last = lastEventId;
    try {
      for await (const part of response.body ?? []) {
        bytes += part.length;
        if (!connected.has(at) && !isFirst) void again(stream).catch(() => {});
        connected.add(at);
        last = /^id: (.*)$/m.exec(decoder.decode(part))?.[1] ?? last;
      }
    } catch {
      // The connection was lost.
    }
    return last;
  };
  const keepOpen = async (stream: Stream, at: number) => {
    let last = '';
    for (let isFirst = true; !end.signal.aborted; isFirst = false) {
      last = await read(stream, at, isFirst, last).catch(() => last);
      connected.delete(at);
      if (!end.signal.aborted) await pause(REOPEN_MS);
    }
  };
  const clients = streams.map(keepOpen);
  return {
    connected: () => connected.size,
    takeBytes() {
      const taken = bytes;
      bytes = 0;
      return taken;
    },
    async close() {
      end.abort();
      await Promise.all(clients);
    },
  };
}
