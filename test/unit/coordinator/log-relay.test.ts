import { expect, test } from 'vitest';
import { AgentSession } from '../../../control-plane/coordinator/agents/agent-session.ts';
import { LogRelay, type LogSource } from '../../../control-plane/coordinator/streams/log-relay.ts';
import {
  decodeFrame,
  FrameSplitter,
  type LogPosition,
} from '../../../control-plane/core/streams/log-frames.ts';
import { encode, encodeChunk, LOG_CHUNK_BYTES, LOG_WINDOW_BYTES } from '../../../shared/protocol/codec.ts';
import { MemorySocket } from '../../support/agents/model-agent.ts';
import { owner } from '../../support/rigs/coordinator-rig.ts';

/** A relay with the state of its service, and the agent's end of its connections. */
class Rig {
  source: LogSource = { generation: 1, session: undefined, removed: false, final: false };
  done = 0;
  /** What the agent has sent beyond its permissions. */
  readonly refused: string[] = [];
  socket = new MemorySocket();
  readonly relay: LogRelay;
  #streams = 100;

  constructor(from?: LogPosition) {
    const done = () => {
      this.done += 1;
    };
    this.relay = new LogRelay(owner, 7, 'raw', () => this.source, done, from);
  }

  /** Connects the agent. */
  attach(): this {
    this.socket = new MemorySocket();
    const events = {
      hello: () => {},
      report: () => {},
      refused: (_: AgentSession, what: string) => this.refused.push(what),
      useAllowance: () => 0,
      bye: () => {
        this.source = { ...this.source, session: undefined };
      },
    };
    this.#streams += 100;
    this.source = { ...this.source, session: new AgentSession(this.socket, 1, events, this.#streams) };
    this.relay.update();
    return this;
  }

  know(changes: Partial<LogSource>): void {
    this.source = { ...this.source, ...changes };
    this.relay.update();
  }

  get opens() {
    return this.socket.all('logs.open');
  }

  get stream(): number {
    return this.opens.at(-1)?.stream ?? -1;
  }

  /** Bytes granted so far on the latest stream. */
  get granted(): number {
    const more = this.socket.all('logs.credit').filter(({ stream }) => stream === this.stream);
    return (this.opens.at(-1)?.credit ?? 0) + more.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  send(next: number, bytes: number | Uint8Array): void {
    const payload = typeof bytes === 'number' ? new Uint8Array(bytes) : bytes;
    this.source.session?.receive(encodeChunk({ stream: this.stream, next, payload }));
  }

  end(reason: 'exited' | 'missing' | 'failed', message?: string): void {
    const end = { type: 'logs.end' as const, stream: this.stream, reason };
    this.source.session?.receive(encode(message === undefined ? end : { ...end, message }));
  }
}

const text = (value: string): Uint8Array => new TextEncoder().encode(value);
const frames = async (relay: LogRelay): Promise<[LogPosition, string][]> => {
  const bytes = new Uint8Array(await new Response(relay.stream).arrayBuffer());
  const found = new FrameSplitter().push(bytes).map(decodeFrame);
  return found.map(({ position, payload }) => [position, new TextDecoder().decode(payload)]);
};
const all = (relay: LogRelay): Promise<string> => new Response(relay.stream).text();
/** Lets the stream call `pull`. */
const settle = () => new Promise((resolve) => setImmediate(resolve));

test('P9: a stream opens with a window of credit, and gets no more while nothing is read', async () => {
  const rig = new Rig().attach();
  expect(rig.opens).toEqual([
    {
      type: 'logs.open',
      stream: 200,
      service: 7,
      generation: 1,
      offset: 0,
      credit: LOG_WINDOW_BYTES,
      format: 'raw',
    },
  ]);
  for (let sent = LOG_CHUNK_BYTES; sent <= LOG_WINDOW_BYTES; sent += LOG_CHUNK_BYTES) {
    rig.send(sent, LOG_CHUNK_BYTES);
    await settle();
  }
  expect(rig.granted).toBe(LOG_WINDOW_BYTES);
});

test('P9: the granted bytes never exceed the read bytes by more than a window', async () => {
  const rig = new Rig().attach();
  const reader = rig.relay.stream.getReader();
  let read = 0;
  let sent = 0;
  for (let round = 0; round < 200; round++) {
    const size = Math.min(1 + ((round * 7919) % LOG_CHUNK_BYTES), rig.granted - sent);
    if (size > 0) {
      sent += size;
      rig.send(sent, size);
    }
    if (round % 3 !== 0 && sent > read) read += (await reader.read()).value?.byteLength ?? 0;
    await settle();
    expect(rig.granted).toBeLessThanOrEqual(read + LOG_WINDOW_BYTES);
    expect(rig.granted).toBeGreaterThanOrEqual(sent);
  }
  expect(read).toBeGreaterThan(4 * LOG_WINDOW_BYTES);
});

test('P9: a subscriber that waits with its own buffer is granted more', async () => {
  const rig = new Rig().attach();
  const reader = rig.relay.stream.getReader({ mode: 'byob' });
  let read = 0;
  for (let sent = 0; sent < 4 * LOG_WINDOW_BYTES; ) {
    const waiting = reader.read(new Uint8Array(LOG_CHUNK_BYTES));
    expect(rig.granted).toBeGreaterThan(sent);
    const size = Math.min(LOG_CHUNK_BYTES, rig.granted - sent);
    sent += size;
    rig.send(sent, size);
    read += (await waiting).value?.byteLength ?? 0;
    await settle();
  }
  expect(read).toBe(4 * LOG_WINDOW_BYTES);
});

test('P9: reconnects do not add to the cost of a stalled subscriber', async () => {
  const rig = new Rig().attach();
  let sent = 0;
  for (let connection = 0; connection < 20; connection++) {
    const credit = rig.granted;
    for (let left = credit; left > 0; left -= LOG_CHUNK_BYTES) {
      sent += LOG_CHUNK_BYTES;
      rig.send(sent, LOG_CHUNK_BYTES);
    }
    await settle();
    rig.source.session?.closed();
    rig.attach();
  }
  expect(sent).toBe(LOG_WINDOW_BYTES);
  const reader = rig.relay.stream.getReader();
  for (let read = 0; read < LOG_WINDOW_BYTES; )
    read += (await reader.read()).value?.byteLength ?? Number.POSITIVE_INFINITY;
  await settle();
  expect(rig.opens).toMatchObject([{ offset: LOG_WINDOW_BYTES }]);
  expect(rig.granted).toBe(LOG_WINDOW_BYTES);
});

test('P9, P12: log data beyond the credit is refused, and ends the connection', async () => {
  const rig = new Rig().attach();
  for (let sent = LOG_CHUNK_BYTES; sent <= LOG_WINDOW_BYTES; sent += LOG_CHUNK_BYTES)
    rig.send(sent, LOG_CHUNK_BYTES);
  expect(rig.refused).toEqual([]);
  rig.send(LOG_WINDOW_BYTES + 1, 1);
  expect(rig.refused).toEqual(['more log data than its credit']);
  const { value } = await rig.relay.stream
    .getReader({ mode: 'byob' })
    .read(new Uint8Array(2 * LOG_WINDOW_BYTES));
  expect(value?.byteLength).toBe(LOG_WINDOW_BYTES);
});

test('P10: after a reconnect the stream continues at the last `next`, under a new number', async () => {
  const rig = new Rig().attach();
  const received = all(rig.relay);
  rig.send(10, text('one '));
  const before = rig.stream;
  rig.source.session?.closed();
  rig.attach();
  expect(rig.opens).toMatchObject([{ generation: 1, offset: 10 }]);
  expect(rig.stream).not.toBe(before);
  rig.send(20, text('two'));
  rig.know({ final: true });
  rig.end('exited');
  expect(await received).toBe('one two');
});

test('P10: a stream whose connection is lost waits for the next connection', () => {
  const rig = new Rig().attach();
  rig.source.session?.closed();
  rig.relay.update();
  expect(rig.opens).toHaveLength(1);
  expect(rig.attach().opens).toHaveLength(1);
});

test('P10: a stream ends once, after the last byte of the last start', async () => {
  const rig = new Rig().attach();
  rig.know({ final: true });
  rig.send(5, text('hello'));
  rig.end('exited');
  expect(await all(rig.relay)).toBe('hello');
  rig.relay.update();
  expect(rig.done).toBe(1);
});

test('P10: a subscriber that waits at the end is released, with its own buffer or without', async () => {
  for (const mode of ['default', 'byob'] as const) {
    const rig = new Rig().attach();
    rig.know({ final: true });
    const waiting =
      mode === 'byob'
        ? rig.relay.stream.getReader({ mode }).read(new Uint8Array(8))
        : rig.relay.stream.getReader().read();
    await settle();
    rig.end('exited');
    expect((await waiting).done).toBe(true);
  }
});

test('P10: the output of later starts follows that of the first', async () => {
  const rig = new Rig().attach();
  const received = all(rig.relay);
  rig.send(4, text('one '));
  rig.end('exited');
  expect(rig.opens).toHaveLength(1);
  rig.know({ generation: 2 });
  expect(rig.opens.at(-1)).toMatchObject({ generation: 2, offset: 0 });
  rig.send(4, text('two '));
  rig.know({ generation: 3, final: true });
  rig.end('exited');
  expect(rig.opens.at(-1)).toMatchObject({ generation: 3, offset: 0 });
  rig.send(5, text('three'));
  rig.end('exited');
  expect(await received).toBe('one two three');
});

test('P10: a start that left no log is skipped', async () => {
  const rig = new Rig().attach();
  rig.know({ generation: 2, final: true });
  rig.end('missing');
  rig.send(3, text('two'));
  rig.end('exited');
  expect(await all(rig.relay)).toBe('two');
});

test('W31: a subscriber with a position begins there, and receives the position after each piece', async () => {
  const rig = new Rig({ generation: 2, offset: 40 });
  rig.source = { ...rig.source, generation: 3 };
  rig.attach();
  expect(rig.opens).toMatchObject([{ generation: 2, offset: 40 }]);
  const received = frames(rig.relay);
  rig.send(44, text('more'));
  rig.end('exited');
  rig.know({ final: true });
  rig.send(3, text('two'));
  rig.end('exited');
  expect(await received).toEqual([
    [{ generation: 2, offset: 44 }, 'more'],
    [{ generation: 3, offset: 3 }, 'two'],
  ]);
});

test('W37: a waiting subscriber receives one note for each start without a log, and continues', async () => {
  const rig = new Rig({ generation: 1, offset: 0 }).attach();
  const received = frames(rig.relay);
  rig.know({ generation: 2 });
  rig.end('missing');
  await settle();
  rig.send(3, text('two'));
  rig.know({ removed: true, generation: 3, final: false });
  rig.end('exited');
  rig.know({ final: true });
  expect(await received).toEqual([
    [{ generation: 0, offset: 0 }, '{"missing":1}'],
    [{ generation: 2, offset: 3 }, 'two'],
    [{ generation: 0, offset: 0 }, '{"missing":3}'],
  ]);
  expect(rig.opens.map(({ generation }) => generation)).toEqual([1, 2]);
});

test('C45: the stream of a service that never started waits, and ends with its execution', async () => {
  const rig = new Rig();
  rig.source = { generation: 0, session: undefined, removed: false, final: false };
  rig.relay.update();
  expect(rig.done).toBe(0);
  rig.know({ final: true });
  expect(await all(rig.relay)).toBe('');
  expect(rig.done).toBe(1);
});

test('C45: a log that the host cannot read is an error for the subscriber, with the reason', async () => {
  const rig = new Rig().attach();
  rig.end('failed', 'disk on fire');
  await expect(all(rig.relay)).rejects.toThrow('disk on fire');
  expect(rig.done).toBe(1);
});

test('C96: the removal of the host aborts a log of which the subscriber has read a part', async () => {
  const rig = new Rig().attach();
  rig.send(4, text('half'));
  rig.source.session?.close('revoked');
  rig.know({ removed: true });
  await expect(all(rig.relay)).rejects.toThrow('removed');
});

test('C96: a subscriber that has read nothing of a lost log continues with the next start elsewhere, or ends', async () => {
  const rig = new Rig().attach();
  rig.source.session?.close('revoked');
  rig.know({ removed: true });
  expect(rig.done).toBe(0);
  rig.know({ removed: false, generation: 2 });
  rig.attach();
  expect(rig.opens).toMatchObject([{ generation: 2, offset: 0 }]);
  rig.source.session?.close('revoked');
  rig.know({ removed: true, final: true });
  expect(await all(rig.relay)).toBe('');
});

test('C123: a log is aborted amid a start if the output of that start is no longer available', async () => {
  const rig = new Rig().attach();
  rig.send(4, text('half'));
  rig.source.session?.close('resync');
  // Its host was lost. The service is now on another one, which does not have that start.
  rig.know({ generation: 2 });
  rig.attach();
  rig.end('missing');
  await expect(all(rig.relay)).rejects.toThrow('no longer available');
});

test('C45: a subscriber that leaves closes the stream at the agent', async () => {
  const rig = new Rig().attach();
  await rig.relay.stream.cancel();
  expect(rig.socket.all('logs.close')).toEqual([{ type: 'logs.close', stream: rig.stream }]);
  expect(rig.done).toBe(1);
  rig.send(5, text('late'));
  rig.know({ generation: 2 });
  expect(rig.opens).toHaveLength(1);
});

test('C45: the bytes of a chunk are copied, since a socket may reuse its buffer', async () => {
  const rig = new Rig().attach();
  const buffer = text('keep');
  const frame = Buffer.from(encodeChunk({ stream: rig.stream, next: 4, payload: buffer }));
  rig.source.session?.receive(frame);
  frame.fill(0);
  const { value } = await rig.relay.stream.getReader().read();
  expect(new TextDecoder().decode(value)).toBe('keep');
});

test('P10: a chunk of a closed stream is answered by closing the stream again', async () => {
  const rig = new Rig().attach();
  const stream = rig.socket.all('logs.open')[0]?.stream ?? 0;
  await rig.relay.stream.cancel();
  rig.source.session?.receive(encodeChunk({ stream, next: 1, payload: text('x') }));
  const close = { type: 'logs.close', stream };
  expect(rig.socket.all('logs.close')).toEqual([close, close]);
});

test('C45: a stream continues with a start that came and ended with its execution while an earlier start was read', async () => {
  // As of the coordinator: once the execution has ended, its last known location is returned.
  let live: number | undefined = 1;
  let last = 1;
  const socket = new MemorySocket();
  const session = new AgentSession(
    socket,
    1,
    { hello: () => {}, report: () => {}, refused: () => {}, useAllowance: () => 0, bye: () => {} },
    100,
  );
  const source = (): LogSource => {
    last = live ?? last;
    return { generation: last, session, removed: false, final: live === undefined };
  };
  const relay = new LogRelay(owner, 7, 'raw', source, () => {});
  relay.update();
  for (const generation of [2, undefined]) {
    live = generation;
    relay.update();
  }
  const stream = socket.all('logs.open')[0]?.stream ?? -1;
  session.receive(encode({ type: 'logs.end', stream, reason: 'exited' }));
  expect(socket.all('logs.open').map(({ generation }) => generation)).toEqual([1, 2]);
});
