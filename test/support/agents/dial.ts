/** The connection of an agent alone, which ends with its test. */
import { onTestFinished } from 'vitest';
import { Addresses } from '../../../agent/connection/addresses.ts';
import { type ConnectionOptions, stayConnected } from '../../../agent/connection/socket.ts';

export function dial(urls: readonly URL[], changes: Partial<ConnectionOptions> = {}) {
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  const connected = stayConnected({
    ...{ addresses: new Addresses(urls), identity: { headers: async () => ({}) }, engine: 'fake' },
    begin: () => ({ receive: () => {}, closed: () => {} }),
    ...{ log: () => {}, nowMs: Date.now, random: () => 0, pingMs: 60_000, signal: stop.signal, ...changes },
  });
  connected.catch(() => {});
  return { stop, connected };
}
