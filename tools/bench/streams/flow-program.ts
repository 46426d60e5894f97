/**
 * The client of a stream or of a container's port: sends or receives for some seconds, and prints a
 * FlowResult.
 */
import { once } from 'node:events';
import { connect } from 'node:net';
import type { Duplex } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { connectEngine } from '../../../agent/engine/engine-address.ts';
import { ClientStream } from '../../../client/streams.ts';
import { median, p99 } from '../figure.ts';

/** Where the bytes go. */
export type Way =
  | { by: 'forward'; url: string; password: string; service: number; port: number }
  | { by: 'exec'; url: string; password: string; service: number; hasTerminal?: boolean }
  | { by: 'tcp'; address: string; port: number }
  /** A command with a terminal, by the engine itself. */
  | { by: 'engine'; container: string };

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
/** The same in a terminal, which would return it too until the program has begun. */
const TERMINAL_ECHO = [
  'node',
  '-e',
  'process.stdin.setRawMode(true).pipe(process.stdout); process.stdout.write("begun")',
];

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
  if (way.by === 'engine') return begun(await engineTerminal(way.container));
  if (way.by === 'tcp') {
    const socket = connect({ host: way.address, port: way.port, noDelay: true });
    await once(socket, 'connect');
    socket.write(`${kind}\n`);
    return lineOf(socket);
  }
  const url = new URL(`${way.url}/native/api/0.7/service/${way.service}/${way.by}`);
  const call = { method: 'GET', url, credentials: { username: 'admin', password: way.password } } as const;
  const stream = await ClientStream.open(call, openingOf(way));
  if (way.by === 'forward') await stream.write(Buffer.from(`${kind}\n`));
  const line: Line = {
    write: (part) => stream.write(part),
    output: () => stream.output(),
    close: () => stream.close(),
  };
  return way.by === 'exec' && way.hasTerminal ? begun(line) : line;
}

function openingOf(way: Way & { by: 'forward' | 'exec' }): Parameters<typeof ClientStream.open>[1] {
  if (way.by === 'forward') return { type: 'forward', port: way.port };
  return way.hasTerminal
    ? { type: 'exec', words: TERMINAL_ECHO, terminal: { columns: 80, rows: 24 } }
    : { type: 'exec', words: ECHO };
}

async function engineTerminal(container: string): Promise<Line> {
  const engine = connectEngine(process.env.DOCKER_HOST ?? '');
  const streams = { AttachStdin: true, AttachStdout: true, AttachStderr: true };
  const exec = await engine.getContainer(container).exec({ Cmd: TERMINAL_ECHO, ...streams, Tty: true });
  return lineOf(await exec.start({ hijack: true, stdin: true, Tty: true }));
}

function lineOf(socket: Duplex): Line {
  socket.on('error', fail);
  return {
    write: async (part) => {
      if (!socket.write(part)) await once(socket, 'drain');
    },
    output: () => socket,
    close: () => socket.destroy(),
  };
}

/** Resolves once the program has written its first words. */
async function begun(line: Line): Promise<Line> {
  const output = line.output()[Symbol.asyncIterator]();
  await output.next();
  return { ...line, output: () => ({ [Symbol.asyncIterator]: () => output }) };
}
