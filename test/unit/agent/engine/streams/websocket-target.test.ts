/** WebSockets to applications as targets of channels, with a real application. */
import { once } from 'node:events';
import { createServer } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { WebSocket } from 'ws';
import { WebSocketTarget } from '../../../../../agent/engine/streams/websocket-target.ts';
import { decodeAnswerHead, type HeaderPair, HeadReader } from '../../../../../shared/streams/app-heads.ts';
import {
  decodeClose,
  encodeClose,
  encodeMessage,
  encodePart,
  kinds,
  MessageMemory,
  type MessagePart,
  MessageReader,
} from '../../../../../shared/streams/socket-messages.ts';
import { type AppServer, startAppServer } from '../../../../support/apps/app-server.ts';
import { eventually } from '../../../../support/tools/eventually.ts';
import { serving } from '../../../../support/tools/serving.ts';

let app: AppServer;
let open: Target[];
beforeEach(async () => {
  [app, open] = [await startAppServer(), []];
});
afterEach(async () => {
  for (const { target } of open) target.destroy();
  await app.close();
});

/** A target, what has come from it, and whether its output has ended. */
interface Target {
  target: WebSocketTarget;
  head: ReturnType<typeof decodeAnswerHead>;
  parts: MessagePart[];
  text: string;
  isOver: boolean;
}

interface Asked {
  path?: string;
  headers?: HeaderPair[];
  memory?: MessageMemory;
  /** Whether its output is read beyond the head. */
  isRead?: boolean;
}

function connect(port: number, { path = '/', headers = [], memory, isRead = true }: Asked = {}): Target {
  const head = { method: 'GET', path, headers: [['host', 'app'] satisfies HeaderPair, ...headers] };
  const target = new WebSocketTarget({ host: '127.0.0.1', port }, head, memory ?? new MessageMemory());
  const heard: Target = { target, head: undefined, parts: [], text: '', isOver: false };
  open.push(heard);
  const listen = async () => {
    const [heads, messages] = [new HeadReader(), new MessageReader()];
    for await (const { bytes } of target.output) {
      const rest = heard.head ? bytes : heads.push(bytes);
      if (rest && 'text' in rest) heard.head = decodeAnswerHead(rest.text);
      const after = rest && 'text' in rest ? rest.rest : rest;
      if (heard.head && 'status' in heard.head && heard.head.status !== 101)
        heard.text += Buffer.from(after ?? []).toString();
      else if (after) heard.parts.push(...messages.push(after));
      if (!isRead) return;
    }
    heard.isOver = true;
  };
  void listen();
  return heard;
}
/** A connected target, and the application's end. */
async function joined(asked: Asked = {}): Promise<Target & { peer: WebSocket }> {
  const before = app.sockets.length;
  const target = connect(app.port, asked);
  await eventually(() => target.head);
  return Object.assign(target, { peer: app.sockets[before] as WebSocket });
}
const partsOf = ({ parts }: Target) =>
  parts.map(({ kind, bytes }) => [kind, Buffer.from(bytes).toString()] as const);

test('P277: messages, pings and pongs pass in both directions, in their order and kinds', async () => {
  const socket = await joined({ path: '/mute' });
  const heard: unknown[] = [];
  socket.peer.on('message', (data, isBinary) => heard.push([isBinary, String(data)]));
  for (const event of ['ping', 'pong'] as const)
    socket.peer.on(event, (data) => heard.push([event, String(data)]));
  for (const message of [
    encodePart({ kind: kinds.text, bytes: Buffer.from('te'), isFinal: false }),
    encodeMessage(kinds.ping, Buffer.from('alive?')),
    encodePart({ kind: kinds.text, bytes: Buffer.from('xt'), isFinal: true }),
    encodeMessage(kinds.binary, Buffer.from('bytes')),
    encodeMessage(kinds.pong, Buffer.from('alive')),
  ])
    for (const byte of message) await socket.target.write(Uint8Array.of(byte));
  await eventually(() => heard.length === 4);
  expect(heard).toEqual([
    ['ping', 'alive?'],
    [false, 'text'],
    [true, 'bytes'],
    ['pong', 'alive'],
  ]);
  socket.peer.send('a text');
  socket.peer.ping('you?');
  socket.peer.send(Buffer.from('some bytes'));
  // The application's own library has answered the ping.
  await eventually(() => socket.parts.length === 4);
  expect(partsOf(socket)).toEqual([
    [kinds.pong, 'alive?'],
    [kinds.text, 'a text'],
    [kinds.ping, 'you?'],
    [kinds.binary, 'some bytes'],
  ]);
});
test('P277: the close of the application passes with its code, and the output ends', async () => {
  const socket = await joined();
  socket.peer.close(4000, 'bye');
  await eventually(() => socket.isOver);
  expect(decodeClose(socket.parts[0]?.bytes ?? Buffer.alloc(0))).toEqual({
    ...{ code: 4000, reason: Uint8Array.from(Buffer.from('bye')) },
  });
  const other = await joined();
  other.peer.terminate();
  await eventually(() => other.isOver);
  expect(decodeClose(other.parts[0]?.bytes ?? Buffer.alloc(0)).code).toBe(1001);
});
test('P277: the close of the browser passes with its code, or without one', async () => {
  for (const [sent, expected] of [
    [4001, [4001, 'bye']],
    [undefined, [1005, '']],
  ] as const) {
    const socket = await joined();
    const closed = once(socket.peer, 'close');
    await socket.target.write(encodeClose(sent, Buffer.from('bye')));
    const [code, reason] = await closed;
    expect([code, String(reason)]).toEqual(expected);
    await eventually(() => socket.isOver);
  }
});
test('P277: the path, the headers and the subprotocol reach the application as they are, and no extension', async () => {
  const headers: HeaderPair[] = [
    ...[
      ['cookie', 'a=1'],
      ['x-bytes', '\u00c3\u00a4'],
      ['sec-websocket-protocol', 'other, chosen, chosen'],
    ],
    ...[
      ['sec-websocket-extensions', 'permessage-deflate'],
      ['sec-websocket-key', 'mine'],
    ],
  ] as HeaderPair[];
  const { head } = await joined({ path: '/a/../b//%7e?c=%20', headers });
  const [{ url, headers: got } = { url: '', headers: {} as Record<string, string> }] = app.requests;
  expect([url, got.host, got.cookie, got['x-bytes']]).toEqual([
    '/a/../b//%7e?c=%20',
    'app',
    'a=1',
    '\u00c3\u00a4',
  ]);
  expect(got['sec-websocket-protocol']).toBe('other,chosen');
  expect([got['sec-websocket-extensions'], got['sec-websocket-key'] === 'mine']).toEqual([undefined, false]);
  expect(JSON.stringify(head)).toContain('"chosen"');
});
test('P277: an application that refuses the WebSocket has an answer with a body', async () => {
  const socket = connect(app.port, { path: '/refused' });
  await eventually(() => socket.isOver);
  expect(socket).toMatchObject({ head: { status: 403 }, text: 'no!' });
});
test('P276: an application that does not make the handshake, or is not there, is named', async () => {
  const closed = await startAppServer();
  await closed.close();
  for (const [port, path, problem] of [
    [app.port, '/liar', /Sec-WebSocket-Accept/],
    [closed.port, '/', /nothing listens there/],
  ] as const) {
    const socket = connect(port, { path });
    await eventually(() => socket.head);
    expect(socket.head).toMatchObject({ problem: expect.stringMatching(problem) });
  }
});
test('P327: lines of the head of a handshake may end in a bare line feed', async () => {
  const accept = async (key: string) =>
    Buffer.from(
      await crypto.subtle.digest('SHA-1', Buffer.from(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)),
    ).toString('base64');
  const port = await serving(
    createServer((socket) => {
      socket.on('error', () => {});
      socket.once('data', async (request) => {
        const [, key = ''] = /sec-websocket-key: (.*)\r\n/i.exec(String(request)) ?? [];
        const head = `HTTP/1.1 101 X\nConnection: Upgrade\nUpgrade: websocket\nSec-WebSocket-Accept: ${await accept(key)}\n\n`;
        socket.write(`${head}\x81\x03a\nb`, 'latin1');
      });
    }),
  );
  const socket = connect(port);
  await eventually(() => socket.parts.length === 1);
  expect(partsOf(socket)).toEqual([[kinds.text, 'a\nb']]);
});
test('P251: of an application whose browser reads nothing, no more is read', async () => {
  const socket = await joined({ path: '/mute', isRead: false });
  let sent = 0;
  const message = Buffer.alloc(64 * 1024);
  const send = () => {
    if (sent >= 1_000) return;
    sent += 1;
    socket.peer.send(message, send);
  };
  send();
  // As much as the buffers of the two kernels have room for.
  await eventually(async () => {
    const before = sent;
    for (let n = 0; n < 20; n++) await new Promise(setImmediate);
    return before > 1 && before === sent;
  });
  expect(sent).toBeLessThan(500);
});
test('H714: messages that together take too much memory end the WebSocket that goes on', async () => {
  const memory = new MessageMemory(1_000_000);
  memory.change(0, 900_000);
  const socket = await joined({ path: '/mute', memory });
  const closed = once(socket.peer, 'close');
  socket.peer.send(Buffer.alloc(500_000), { fin: false });
  expect((await closed)[0]).toBe(1013);
  socket.target.destroy();
  memory.change(900_000, 0);
  expect(memory.change(0, 1_000_000)).toBe(true);
});
test('P278: a WebSocket that is given up ends at the application', async () => {
  const socket = await joined();
  const closed = once(socket.peer, 'close');
  socket.target.destroy();
  expect((await closed)[0]).toBe(1006);
});
test('P277: bytes that are no messages end the WebSocket', async () => {
  const socket = await joined();
  await socket.target.write(Uint8Array.of(3, 0, 0, 0, 0));
  await eventually(() => socket.isOver);
});
