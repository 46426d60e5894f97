/**
 * What the containers of the group `streams` run: a TCP server on port 7000, whose clients state in a first
 * line what it does, and an HTTP server on port 8080. Imports nothing but Node, since it runs alone in a
 * container.
 */
import { createServer as createHttpServer, type ServerResponse } from 'node:http';
import { createServer, type Socket } from 'node:net';

const BLOCK = Buffer.alloc(64 * 1024, 'berth');
const SMALL = 'y'.repeat(100);

/** By the first word of a client's first line. */
const actions: Record<string, (socket: Socket, ...rest: string[]) => void> = {
  down: (socket) => void writeOn(socket, Number.POSITIVE_INFINITY),
  up: (socket) => void socket.resume(),
  echo: (socket) => void socket.pipe(socket),
  log: (_, lines, everyMs) => writeLog(Number(lines), Number(everyMs)),
};

createServer({ noDelay: true }, (socket) => {
  socket.on('error', () => socket.destroy());
  socket.once('data', (first) => {
    const end = first.indexOf(0x0a);
    const rest = first.subarray(end + 1);
    if (rest.length > 0) socket.unshift(rest);
    const [action = '', ...words] = first.subarray(0, end).toString().split(' ');
    actions[action]?.(socket, ...words);
  });
}).listen(7_000);

/** `/down/<bytes>` has an answer of that size. */
createHttpServer((request, response) => {
  const [, size] = /^\/down\/(\d+)$/.exec(request.url ?? '') ?? [];
  if (size !== undefined) {
    response.writeHead(200, { 'content-length': size });
    void writeOn(response, Number(size));
  } else if (request.method === 'POST') request.resume().on('end', () => response.end(SMALL));
  else response.writeHead(200, { 'content-length': SMALL.length }).end(SMALL);
}).listen(8_080);

/** Writes so many bytes, or until the client disconnects. */
async function writeOn(to: Socket | ServerResponse, bytes: number): Promise<void> {
  for (let left = bytes; left > 0 && !to.destroyed; left -= BLOCK.length)
    if (!to.write(left < BLOCK.length ? BLOCK.subarray(0, left) : BLOCK))
      await new Promise<void>((resolve) => {
        to.once('drain', resolve).once('close', resolve);
      });
  to.end();
}

/** Writes lines with their times to the output. */
function writeLog(lines: number, everyMs: number): void {
  let left = lines;
  const timer = setInterval(() => {
    process.stdout.write(`at ${performance.timeOrigin + performance.now()}\n`);
    left -= 1;
    if (left === 0) clearInterval(timer);
  }, everyMs);
}
