/**
 * The limit of the group `streams`: frames over two WebSocket hops, without Berth. `relay` listens and prints
 * its port; `end PORT` connects to it from behind, as an agent does, and each client gets one such end. The
 * client's first text frame is `down`, `up` or `echo`. A process for each.
 */
import type { AddressInfo } from 'node:net';
import { WebSocket, WebSocketServer } from 'ws';

const FRAME = Buffer.alloc(64 * 1024, 'berth');
/** A socket with more unsent bytes takes no further ones for now. */
const MAX_UNSENT = 1024 * 1024;
const plain = { perMessageDeflate: false };

const [, , role = '', port = ''] = process.argv;
if (role === 'relay') relay();
else end(port);

function relay(): void {
  const server = new WebSocketServer({ ...plain, host: '127.0.0.1', port: 0 });
  const ends: WebSocket[] = [];
  const clients: WebSocket[] = [];
  const pair = () => {
    while (ends.length > 0 && clients.length > 0) {
      const [one, other] = [clients.shift(), ends.shift()];
      if (!one || !other) return;
      pass(one, other);
      pass(other, one);
      one.resume();
    }
  };
  server.on('connection', (socket, { url }) => {
    socket.on('error', () => socket.terminate());
    if (url === '/end') ends.push(socket);
    else {
      socket.pause();
      clients.push(socket);
    }
    pair();
  });
  server.on('listening', () => console.log(`port ${(server.address() as AddressInfo).port}`));
}

function pass(from: WebSocket, to: WebSocket): void {
  from.on('message', (data, binary) => {
    to.send(data, { binary }, () => {
      if (from.isPaused && to.bufferedAmount < MAX_UNSENT) from.resume();
    });
    if (to.bufferedAmount > MAX_UNSENT) from.pause();
  });
  from.on('close', () => to.terminate());
}

function end(to: string): void {
  const socket = new WebSocket(`ws://127.0.0.1:${to}/end`, plain);
  socket.on('error', () => socket.terminate());
  socket.on('open', () => console.log('open'));
  socket.on('close', () => end(to));
  socket.once('message', (data) => {
    const kind = String(data);
    if (kind === 'down') void send(socket);
    if (kind === 'echo') socket.on('message', (bytes) => socket.send(bytes));
  });
}

async function send(socket: WebSocket): Promise<void> {
  while (socket.readyState === WebSocket.OPEN)
    await new Promise<void>((resolve) => {
      socket.send(FRAME, () => resolve());
      if (socket.bufferedAmount < MAX_UNSENT) resolve();
    });
}
