/**
 * What the containers of the group `streams` run: a TCP server on port 7000, whose clients state in a first
 * line what it does, and an HTTP server on port 8080. Imports nothing but Node, since it runs alone in a
 * container.
 */
import { createServer as createHttpServer, type ServerResponse } from 'node:http';
import { createServer, type Socket } from 'node:net';
import type { Writable } from 'node:stream';

const BLOCK = Buffer.alloc(64 * 1024, 'berth');
const LINE = `${'x'.repeat(99)}\n`;
const SMALL = 'y'.repeat(100);
const TICK_MS = 10;

/** By the first word of the line; the second one is bytes per second, and absent: as fast as they go. */
const actions: Record<string, (socket: Socket, bytesPerS: number) => void> = {
  down: (socket, bytesPerS) => {
    if (bytesPerS > 0) pace(socket, bytesPerS, (bytes) => void write(socket, bytes));
    else void writeFor(socket, Number.POSITIVE_INFINITY);
  },
  up: (socket) => void socket.resume(),
  echo: (socket) => void socket.pipe(socket),
  /** Writes lines to the log of the service until the client disconnects. */
  log: (socket, bytesPerS) =>
    pace(socket, bytesPerS, (bytes) => process.stdout.write(LINE.repeat(bytes / LINE.length))),
};

createServer({ noDelay: true }, (socket) => {
  socket.on('error', () => socket.destroy());
  socket.once('data', (first) => {
    const end = first.indexOf(0x0a);
    const [word = '', bytesPerS] = first.subarray(0, end).toString().split(' ');
    const rest = first.subarray(end + 1);
    if (rest.length > 0) socket.unshift(rest);
    actions[word]?.(socket, Number(bytesPerS ?? 0));
  });
}).listen(7_000);

createHttpServer((request, response) => {
  if (request.url === '/down') void writeFor(response, Number.POSITIVE_INFINITY);
  else if (request.method === 'POST') request.resume().on('end', () => response.end(SMALL));
  else response.writeHead(200, { 'content-length': SMALL.length }).end(SMALL);
}).listen(8_080);

/** Calls `send` with what is due, until the client disconnects. */
function pace(socket: Socket, bytesPerS: number, send: (bytes: number) => void): void {
  const beganMs = performance.now();
  let sent = 0;
  const timer = setInterval(() => {
    const due = ((performance.now() - beganMs) * bytesPerS) / 1_000 - sent;
    const bytes = due - (due % LINE.length);
    // A reader that is slower is not sent later what it could not take.
    sent += due;
    if (bytes > 0 && socket.writableLength < bytesPerS / 10) send(bytes);
  }, TICK_MS);
  socket.on('close', () => clearInterval(timer));
}

function write(socket: Writable, bytes: number): void {
  for (let left = bytes; left > 0; left -= BLOCK.length) socket.write(BLOCK.subarray(0, left));
}

async function writeFor(socket: Writable | ServerResponse, bytes: number): Promise<void> {
  for (let left = bytes; left > 0 && !socket.destroyed; left -= BLOCK.length)
    if (!socket.write(BLOCK.subarray(0, left)))
      await new Promise<void>((resolve) => {
        socket.once('drain', resolve).once('close', resolve);
      });
  socket.end();
}
