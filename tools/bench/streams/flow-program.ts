/**
 * The client of a stream, of a container's port or of a web application: sends or receives for some seconds,
 * and prints a FlowResult.
 */
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { connect } from 'node:net';
import type { Writable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { ClientStream } from '../../../client/streams.ts';
import { median, p99 } from '../figure.ts';

/** Where the bytes go. */
export type Way =
  | { by: 'forward'; url: string; password: string; service: number; port: number }
  | { by: 'exec'; url: string; password: string; service: number }
  | { by: 'tcp'; address: string; port: number }
  | { by: 'http'; address: string; port: number; headers: Record<string, string> };

export interface Flow {
  way: Way;
  /** From the service to the client, to the service, or small pieces there and back, one after the other. */
  kind: 'down' | 'up' | 'echo';
  seconds: number;
}

export interface FlowResult {
  megabytesPerS: number;
  /** Round trips of `echo`. */
  medianMs: number;
  p99Ms: number;
}

/** What the ways have in common. */
interface Line {
  /** Resolves once more may be written. */
  write(bytes: Uint8Array): Promise<void>;
  output(): AsyncIterable<Uint8Array>;
  close(): void;
}

const BLOCK = Buffer.alloc(64 * 1024, 'berth');
const PING = Buffer.alloc(64, 'berth');
const WARM_UP_MS = 500;
/** Returns what it gets. */
const ECHO = ['node', '-e', 'process.stdin.pipe(process.stdout)'];

const flow = JSON.parse(process.argv[2] ?? '') as Flow;
let isOver = false;
let bytes = 0;
let latenciesMs: number[] = [];

const line = await opened(flow);
const running = run(line).catch(fail);
await pause(WARM_UP_MS);
bytes = 0;
latenciesMs = [];
const beganMs = performance.now();
await pause(flow.seconds * 1_000);
const megabytesPerS = bytes / 1e3 / (performance.now() - beganMs);
const trips = flow.kind === 'echo' ? latenciesMs : [Number.NaN];
const result: FlowResult = { megabytesPerS, medianMs: median(trips), p99Ms: p99(trips) };
console.log(JSON.stringify(result));
isOver = true;
line.close();
await Promise.race([running, pause(1_000)]);
process.exit(0);

function fail(error: unknown): void {
  if (isOver) return;
  console.error(error);
  process.exit(1);
}

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

async function opened({ way, kind }: Flow): Promise<Line> {
  if (way.by === 'http') return openHttp(way, kind);
  if (way.by === 'tcp') {
    const socket = connect({ host: way.address, port: way.port, noDelay: true });
    await once(socket, 'connect');
    socket.on('error', fail).write(`${kind}\n`);
    return { write: (part) => written(socket, part), output: () => socket, close: () => socket.destroy() };
  }
  const url = new URL(`${way.url}/native/api/0.7/service/${way.service}/${way.by}`);
  const call = { method: 'GET', url, credentials: { username: 'admin', password: way.password } } as const;
  const opening =
    way.by === 'exec' ? { type: 'exec' as const, words: ECHO } : { type: 'forward' as const, port: way.port };
  const stream = await ClientStream.open(call, opening);
  if (way.by === 'forward') await stream.write(Buffer.from(`${kind}\n`));
  return {
    write: (part) => stream.write(part),
    output: () => stream.output(),
    close: () => stream.close(),
  };
}

async function openHttp({ address, port, headers }: Way & { by: 'http' }, kind: Flow['kind']): Promise<Line> {
  const isUp = kind === 'up';
  const sent = request({
    host: address,
    port,
    headers,
    ...(isUp ? { method: 'POST', path: '/up' } : { method: 'GET', path: '/down' }),
  });
  sent.on('error', fail);
  if (isUp) return { write: (part) => written(sent, part), output: nothing, close: () => sent.destroy() };
  sent.end();
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  if (answer.statusCode !== 200) throw new Error(`GET /down: ${answer.statusCode}`);
  return { write: async () => {}, output: () => answer, close: () => sent.destroy() };
}

async function written(to: Writable, part: Uint8Array): Promise<void> {
  if (!to.write(part)) await once(to, 'drain');
}

async function* nothing(): AsyncGenerator<Uint8Array> {}
