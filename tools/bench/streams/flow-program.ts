/**
 * The client of a stream, of a bare relay, or of a web application: sends or receives for some seconds, or
 * until a SIGTERM. Prints `flows` once bytes flow, and at the end a FlowResult.
 */
import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { ClientStream } from '../../../client/streams.ts';
import type { Flow, FlowResult, Way } from './flow.ts';

/** What the three ways have in common. */
interface Line {
  /** Resolves once more may be written. */
  write(bytes: Uint8Array): Promise<void>;
  output(): AsyncIterable<Uint8Array>;
  close(): void;
}

const BLOCK = Buffer.alloc(64 * 1024, 'berth');
const PING = Buffer.alloc(64, 'berth');
const MAX_UNSENT = 1024 * 1024;
const WARM_UP_MS = 500;

const flow = JSON.parse(process.argv[2] ?? '') as Flow;
let isOver = false;
let bytes = 0;
const latenciesMs: number[] = [];

const line = await opened(flow);
const over = new AbortController();
process.once('SIGTERM', () => over.abort());
const running = run(line).catch((error: unknown) => {
  if (isOver) return;
  console.error(error);
  process.exit(1);
});
await pause(WARM_UP_MS);
console.log('flows');
bytes = 0;
latenciesMs.length = 0;
const beganMs = performance.now();
await pause(flow.seconds * 1_000, undefined, { signal: over.signal }).catch(() => {});
const megabytesPerS = bytes / 1e3 / (performance.now() - beganMs);
latenciesMs.sort((a, b) => a - b);
const at = (share: number) => latenciesMs[Math.floor(latenciesMs.length * share)] ?? Number.NaN;
const result: FlowResult = { megabytesPerS, medianMs: at(0.5), p99Ms: at(0.99) };
console.log(JSON.stringify(result));
isOver = true;
line.close();
await Promise.race([running, pause(1_000)]);
process.exit(0);

async function run({ write, output }: Line): Promise<void> {
  if (flow.kind === 'up') for (; !isOver; bytes += BLOCK.length) await write(BLOCK);
  else if (flow.kind === 'down') {
    for await (const part of output()) {
      bytes += part.length;
      if (isOver) return;
    }
    throw new Error('the stream has ended');
  } else await echo(write, output());
}

async function echo(write: Line['write'], output: AsyncIterable<Uint8Array>): Promise<void> {
  const parts = output[Symbol.asyncIterator]();
  while (!isOver) {
    const sentMs = performance.now();
    await write(PING);
    for (let left = PING.length; left > 0; ) {
      const { done, value } = await parts.next();
      if (done) throw new Error('the stream has ended');
      left -= value.length;
    }
    latenciesMs.push(performance.now() - sentMs);
  }
}

async function opened({ way, kind, bytesPerS }: Flow): Promise<Line> {
  if (way.by === 'http') return openHttp(way, kind);
  if (way.by === 'bare relay') return openBare(way.port, kind);
  const { service, port, password } = way;
  const url = new URL(`${way.url}/native/api/0.7/service/${service}/forward`);
  const stream = await ClientStream.open(
    { method: 'GET', url, credentials: { username: 'admin', password } },
    { type: 'forward', port },
  );
  await stream.write(Buffer.from(`${kind}${bytesPerS === undefined ? '' : ` ${bytesPerS}`}\n`));
  return {
    write: (part) => stream.write(part),
    output: () => stream.output(),
    close: () => stream.close(),
  };
}

async function openBare(port: number, kind: Flow['kind']): Promise<Line> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/client`, { perMessageDeflate: false });
  await once(socket, 'open');
  socket.send(kind);
  return {
    write: (part) =>
      new Promise((resolve, reject) => {
        socket.send(part, (error) => (error ? reject(error) : resolve()));
        if (socket.bufferedAmount < MAX_UNSENT) resolve();
      }),
    output: () => arrivals(socket),
    close: () => socket.terminate(),
  };
}

/** Keeps what has arrived and is not yet read, as the client of Berth does. */
async function* arrivals(socket: WebSocket): AsyncGenerator<Uint8Array> {
  const waiting: Buffer[] = [];
  let changed = () => {};
  socket.on('message', (data: Buffer) => {
    waiting.push(data);
    changed();
  });
  socket.on('close', () => changed());
  for (;;) {
    const next = waiting.shift();
    if (next) yield next;
    else if (socket.readyState !== WebSocket.OPEN) return;
    else
      await new Promise<void>((resolve) => {
        changed = resolve;
      });
  }
}

async function openHttp({ address, port, headers }: Way & { by: 'http' }, kind: Flow['kind']): Promise<Line> {
  const isUp = kind === 'up';
  const sent = request({
    host: address,
    port,
    headers,
    ...(isUp ? { method: 'POST', path: '/up' } : { method: 'GET', path: '/down' }),
  });
  sent.on('error', (error) => {
    if (isOver) return;
    console.error(error);
    process.exit(1);
  });
  if (isUp) return { write: (part) => written(sent, part), output: nothing, close: () => sent.destroy() };
  sent.end();
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  if (answer.statusCode !== 200) throw new Error(`GET /down: ${answer.statusCode}`);
  return { write: async () => {}, output: () => answer, close: () => sent.destroy() };
}

async function written(sent: ClientRequest, part: Uint8Array): Promise<void> {
  if (!sent.write(part)) await once(sent, 'drain');
}

async function* nothing(): AsyncGenerator<Uint8Array> {}
