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
  const texts: string[] = [];
  server.on('connection', (socket) => {
    socket.once('message', () => socket.send(JSON.stringify({ type: 'opened', credit: 1 })));
    socket.on('message', (data) => void texts.push(String(data)));
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
  const send = (data: object | Uint8Array) => {
    for (const socket of server.clients)
      socket.send(data instanceof Uint8Array ? data : JSON.stringify(data));
  };
  /** Resolves once the client has taken in all that was sent. */
  const arrived = async () => {
    for (const socket of server.clients) {
      socket.ping();
      await once(socket, 'pong');
    }
  };
  /** The marks that the client has returned. */
  const returned = () => texts.slice(1).map((text) => JSON.parse(text).mark);
  return { stream, close, send, arrived, returned, pings: () => pings };
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

test('H833: a mark is returned at once while nothing is unread, and after what its reader has used', async () => {
  const { stream, close, send, arrived, returned } = await opened(true);
  send({ type: 'mark', mark: 'idle' });
  await eventually(() => expect(returned()).toEqual(['idle']));
  const output = stream.output();
  send(Buffer.from('one'));
  expect(String((await output.next()).value)).toBe('one');
  send({ type: 'mark', mark: 'after one' });
  await arrived();
  expect(returned()).toEqual(['idle']);
  send(Buffer.from('two'));
  send({ type: 'mark', mark: 'after two' });
  send({ type: 'end' });
  expect(String((await output.next()).value)).toBe('two');
  await eventually(() => expect(returned()).toEqual(['idle', 'after one']));
  expect((await output.next()).done).toBe(true);
  send({ type: 'mark', mark: 'after the end' });
  await eventually(() => expect(returned()).toEqual(['idle', 'after one', 'after two', 'after the end']));
  await close();
});
