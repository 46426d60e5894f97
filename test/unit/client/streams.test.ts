import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { WebSocketServer } from 'ws';
import { ClientStream } from '../../../client/streams.ts';
import { eventually } from '../../support/tools/eventually.ts';

const PING_MS = 20_000;

beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] }));
afterEach(() => void vi.useRealTimers());

/** A stream to a server that answers pings, or none. */
async function opened(autoPong: boolean) {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1', autoPong });
  await once(server, 'listening');
  let pings = 0;
  server.on('connection', (socket) => {
    socket.once('message', () => socket.send(JSON.stringify({ type: 'opened', credit: 1 })));
    socket.on('ping', () => void pings++);
  });
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  const stream = await ClientStream.open({ method: 'GET', url }, { type: 'exec', words: ['sh'] });
  const close = async () => {
    stream.close();
    for (const socket of server.clients) socket.terminate();
    server.close();
    await once(server, 'close');
  };
  return { stream, close, pings: () => pings };
}

/** Lets the time for so many pings pass. */
async function pass({ pings }: { pings: () => number }, count: number): Promise<void> {
  for (let ping = 1; ping <= count; ping += 1) {
    vi.advanceTimersByTime(PING_MS);
    await eventually(() => expect(pings()).toBe(ping));
  }
}

test('L167: a connection that has gone silently ends after a minute, and one that answers lasts', async () => {
  const silent = await opened(false);
  const output = silent.stream.output().next();
  output.catch(() => {});
  await pass(silent, 2);
  vi.advanceTimersByTime(PING_MS);
  await expect(output).rejects.toThrow('broke off');
  await silent.close();
  const lively = await opened(true);
  await pass(lively, 5);
  expect(lively.stream.isOver).toBe(false);
  await lively.close();
});
