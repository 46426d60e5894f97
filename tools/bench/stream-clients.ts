/** Clients that keep streams open: each opens its stream again when it ends, as a browser does. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Deployment } from './deployment.ts';

const REOPEN_MS = 500;

export interface StreamClients {
  /** Clients that have received something on their present stream. */
  connected(): number;
  /** Bytes that all have received since the last call. */
  takeBytes(): number;
  /** Resolves once each client has received something from now on. */
  allReceive(): Promise<void>;
  close(): Promise<void>;
}

/** Opens streams of the API as the administrator, by their paths. */
export function openStreams({ url, cookie }: Deployment, paths: readonly string[]): StreamClients {
  const end = new AbortController();
  const connected = new Set<number>();
  let bytes = 0;
  let missing = new Set<number>();
  let received = Promise.withResolvers<void>();
  const read = async (path: string, at: number) => {
    const response = await fetch(`${url}/api/0.7/${path}`, { headers: { cookie }, signal: end.signal });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    for await (const part of response.body ?? []) {
      bytes += part.length;
      connected.add(at);
      if (missing.delete(at) && missing.size === 0) received.resolve();
    }
  };
  const keepOpen = async (path: string, at: number) => {
    while (!end.signal.aborted) {
      // A lost connection, or one that is refused by what starts again.
      await read(path, at).catch(() => {});
      connected.delete(at);
      if (!end.signal.aborted) await pause(REOPEN_MS);
    }
  };
  const clients = paths.map(keepOpen);
  return {
    connected: () => connected.size,
    takeBytes() {
      const taken = bytes;
      bytes = 0;
      return taken;
    },
    allReceive() {
      missing = new Set(paths.keys());
      received = Promise.withResolvers();
      return received.promise;
    },
    async close() {
      end.abort();
      await Promise.all(clients);
    },
  };
}
