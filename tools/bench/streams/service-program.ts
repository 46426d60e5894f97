/**
 * What the containers of the group `streams` run: a TCP server on port 7000, whose clients state in a first
 * line what it does, and an HTTP server on port 8080. Imports nothing but Node, since it runs alone in a
 * container.
 */
import { createServer as createHttpServer, type ServerResponse } from 'node:http';
import { createServer, type Socket } from 'node:net';

const BLOCK = Buffer.alloc(64 * 1024, 'berth');
const SMALL = 'y'.repeat(100);

/** By the first line of a client. */
const actions: Record<string, (socket: Socket) => void> = {
  down: (socket) => void writeOn(socket),
  up: (socket) => void socket.resume(),
  echo: (socket) => void socket.pipe(socket),
};

createServer({ noDelay: true }, (socket) => {
  socket.on('error', () => socket.destroy());
  socket.once('data', (first) => {
    const end = first.indexOf(0x0a);
    const rest = first.subarray(end + 1);
    if (rest.length > 0) socket.unshift(rest);
    actions[first.subarray(0, end).toString()]?.(socket);
  });
}).listen(7_000);

createHttpServer((request, response) => {
  if (request.url === '/down') void writeOn(response);
  else if (request.method === 'POST') request.resume().on('end', () => response.end(SMALL));
  else response.writeHead(200, { 'content-length': SMALL.length }).end(SMALL);
}).listen(8_080);

/** Writes until the client disconnects. */
async function writeOn(to: Socket | ServerResponse): Promise<void> {
  while (!to.destroyed)
    if (!to.write(BLOCK))
      await new Promise<void>((resolve) => {
        to.once('drain', resolve).once('close', resolve);
      });
  to.end();
}
