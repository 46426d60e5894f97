/** Streams that outlive a lost connection of their client: nothing is lost or doubled, and little is kept. */
import { setImmediate } from 'node:timers/promises';
import { beforeEach, expect, test } from 'vitest';
import { OpenChannels } from '../../../../control-plane/coordinator/connections/open-channels.ts';
import { noTraffic } from '../../../../control-plane/coordinator/connections/traffic.ts';
import { AwakeTime } from '../../../../control-plane/coordinator/sleep/awake-time.ts';
import { NO_CLOSE } from '../../../../control-plane/coordinator/streams/client-end.ts';
import { RESUME_MS } from '../../../../control-plane/coordinator/streams/resumable-stream.ts';
import {
  MAX_RESUMABLE,
  MAX_RESUMABLE_OF_USER,
  ResumableStreams,
} from '../../../../control-plane/coordinator/streams/resumable-streams.ts';
import { StreamConnection } from '../../../../control-plane/coordinator/streams/stream-connection.ts';
import { MARK_MS } from '../../../../control-plane/coordinator/streams/stream-relay.ts';
import type { StreamSessionDeps } from '../../../../control-plane/coordinator/streams/stream-session.ts';
import { defaultStreamRules } from '../../../../control-plane/core/model/stream-rules.ts';
import type { StreamRequest } from '../../../../control-plane/core/streams/stream-request.ts';
import { decodeChunk } from '../../../../shared/protocol/codec.ts';
import type { Down } from '../../../../shared/protocol/down.ts';
import type { ServerMessage } from '../../../../shared/streams/client-messages.ts';
import { WINDOW_BYTES } from '../../../../shared/streams/targets.ts';
import { ADMIN_DOER } from '../../../support/apps/app-request.ts';
import { PLACED, ScriptedPlacement } from '../../../support/rigs/scripted-placement.ts';
import { TestClock } from '../../../support/rigs/test-clock.ts';

const REQUEST: StreamRequest = {
  ...{ purpose: 'exec', serviceId: 7, hostId: 1 },
  subscriber: {
    ...{ userId: 1, credentialVersion: 1, ownerId: 1 },
    ...{ credential: { by: 'session', tokenHash: 'abc' }, use: { kind: 'exec-service' } },
  },
  doer: ADMIN_DOER,
};
const ofUser = (userId: number): StreamRequest => ({
  ...REQUEST,
  subscriber: { ...REQUEST.subscriber, userId },
});
/** After so many a mark follows. */
const PART_BYTES = WINDOW_BYTES / 4;
const SHELL = { type: 'exec', words: ['sh'], terminal: { columns: 80, rows: 24 }, resume: true };
const UNKNOWN = expect.stringContaining('There is no such stream to resume');

let clock: TestClock;
let channels: OpenChannels;
let told: Down[];
let input: string;
let placements: ScriptedPlacement[];
let resumable: ResumableStreams;
let deps: StreamSessionDeps;

beforeEach(() => {
  [clock, told, input, placements, resumable] = [
    new TestClock(),
    [],
    '',
    [],
    new ResumableStreams(MAX_RESUMABLE.node),
  ];
  channels = new OpenChannels({
    traffic: noTraffic(),
    sendText: (message) => told.push(message),
    sendBytes: (frame) => {
      input += Buffer.from(decodeChunk(frame).payload).toString();
    },
    refused: () => {},
  });
  deps = {
    ...{ clock, rules: defaultStreamRules, channelsAt: async () => channels },
    place: async () => {
      const placement = new ScriptedPlacement(PLACED);
      placements.push(placement);
      return placement;
    },
  };
});

class Client {
  readonly messages: ServerMessage[] = [];
  readonly closes: number[] = [];
  output = '';
  readonly #connection: StreamConnection;

  constructor(first: object, request = REQUEST) {
    const socket = {
      send: (data: string | Uint8Array) => {
        if (typeof data === 'string') this.messages.push(JSON.parse(data));
        else this.output += Buffer.from(data).toString('latin1');
      },
      close: (code: number) => void this.closes.push(code),
    };
    this.#connection = new StreamConnection(socket, request, deps, resumable);
    this.says(first);
  }

  says(message: object): void {
    this.#connection.receive(JSON.stringify(message));
  }

  types(text: string): void {
    this.#connection.receive(Buffer.from(text));
  }

  lost(code = NO_CLOSE): void {
    this.#connection.closed(code);
  }

  got<T extends ServerMessage['type']>(type: T): Extract<ServerMessage, { type: T }>[] {
    return this.messages.filter((one): one is Extract<ServerMessage, { type: T }> => one.type === type);
  }
}

const turns = async () => {
  for (let n = 0; n < 5; n++) await setImmediate();
};
/** A client whose command the agent has accepted. */
async function opened(credit = WINDOW_BYTES, request = REQUEST, first: object = SHELL) {
  const client = new Client(first, request);
  await turns();
  const opening = told.at(-1);
  const channel = opening?.type === 'channel.open' ? opening.channel : -1;
  channels.receive({ type: 'channel.opened', channel, credit });
  const [{ session } = {}] = client.got('opened');
  const prints = (text: string) => channels.chunk({ channel, payload: Buffer.from(text, 'latin1') });
  const exits = (exitCode: number) => channels.receive({ type: 'channel.end', channel, exitCode });
  const resumed = (received: number, by = request) => new Client({ type: 'resume', session, received }, by);
  return { client, channel, session, prints, exits, resumed };
}
const left = () => placements.filter(({ isLeft }) => isLeft).length;
const ends = () => told.filter(({ type }) => type === 'channel.reset').length;
const grants = () => told.flatMap((one) => (one.type === 'channel.credit' ? one.bytes : []));

test('H834: a stream whose connection is lost goes on at the next one, and again, with all of its output once', async () => {
  const { client, session, prints, resumed } = await opened();
  expect(session).toMatch(/^[0-9a-f-]{36}$/);
  expect(told[0]).toMatchObject({ target: { kind: 'exec', words: ['sh'] } });
  expect(told[0]).not.toHaveProperty('target.resume');
  prints('one');
  client.lost();
  prints('two');
  const second = resumed(3);
  expect([second.messages, second.output]).toEqual([
    [{ type: 'resumed', taken: 0, credit: WINDOW_BYTES }],
    'two',
  ]);
  prints('three');
  second.lost();
  clock.pass(RESUME_MS - 1);
  prints('four');
  // The connection broke off before the end of what was sent.
  const third = resumed('onetwoth'.length);
  expect(third.output).toBe('reefour');
  clock.pass(RESUME_MS);
  expect([client.output, third.closes, ends(), left()]).toEqual(['one', [], 0, 0]);
});

test('H834: the next connection learns how much input has arrived, and what comes late on the last one is ignored', async () => {
  const { client, channel, resumed } = await opened(10);
  client.types('abc');
  const second = resumed(0);
  expect(second.messages).toEqual([{ type: 'resumed', taken: 3, credit: 7 }]);
  expect([client.got('reset'), client.closes]).toEqual([
    [{ type: 'reset', message: expect.stringContaining('goes on at another connection') }],
    [1001],
  ]);
  client.types('late');
  client.says({ type: 'end' });
  client.lost();
  second.types('de');
  channels.receive({ type: 'channel.credit', channel, bytes: 5 });
  second.lost();
  expect(resumed(0).messages).toEqual([{ type: 'resumed', taken: 5, credit: 10 }]);
  expect([input, told.map(({ type }) => type), ends()]).toEqual(['abcde', ['channel.open'], 0]);
});

test('H834: a mark that was not returned comes again after the output, and is good for its credit once', async () => {
  const { client, prints, resumed } = await opened();
  prints('x'.repeat(PART_BYTES));
  const [first] = client.got('mark');
  client.lost();
  const second = resumed(PART_BYTES - 2);
  expect([second.output, second.got('mark')]).toEqual(['xx', [first]]);
  for (let n = 0; n < 2; n += 1) second.says({ type: 'read', mark: first?.mark });
  second.lost();
  expect([resumed(PART_BYTES).got('mark'), grants()]).toEqual([[], [PART_BYTES]]);
});

test('H834: a mark that is repeated confirms no more than what was sent before it first', async () => {
  const { client, prints, resumed } = await opened();
  prints('x'.repeat(PART_BYTES));
  prints('rest');
  clock.pass(MARK_MS);
  const [first, again] = client.got('mark');
  expect(again).toEqual(first);
  client.says({ type: 'read', mark: first?.mark });
  client.lost();
  expect(resumed(PART_BYTES).output).toBe('rest');
});

test('H834: after 120 s without a connection the command ends, and can not be resumed', async () => {
  const { client, prints, resumed } = await opened();
  client.lost();
  clock.pass(RESUME_MS - 1);
  expect([ends(), left(), resumable.size]).toEqual([0, 0, 1]);
  clock.pass(1);
  expect([ends(), left(), resumable.size]).toEqual([1, 1, 0]);
  prints('late');
  const late = resumed(0);
  expect([late.messages, late.closes]).toEqual([[{ type: 'reset', message: UNKNOWN }], [1001]]);
});

test.each([
  [1000, 1],
  [1001, 0],
  [1005, 0],
  [NO_CLOSE, 0],
  [4000, 0],
])(
  'H834: a connection that ends with %i leaves the command to be resumed, unless that is 1000',
  async (code, ended) => {
    const { client } = await opened();
    client.lost(code);
    expect([ends(), left(), resumable.size]).toEqual([ended, ended, 1 - ended]);
  },
);

test('H834: a command that was not opened yet, or did not request it, ends with its connection', async () => {
  const early = new Client(SHELL);
  await turns();
  early.lost();
  expect([ends(), left(), resumable.size]).toEqual([1, 1, 0]);
  const { client, session } = await opened(1, REQUEST, { ...SHELL, resume: undefined });
  expect(session).toBeUndefined();
  client.lost();
  expect([ends(), left()]).toEqual([2, 2]);
});

test('H835: nobody else resumes a stream, nor its user by another credential or to another service', async () => {
  const { client, prints, resumed } = await opened();
  client.lost();
  const { subscriber } = REQUEST;
  const others: StreamRequest[] = [
    ofUser(2),
    { ...REQUEST, subscriber: { ...subscriber, credential: { by: 'session', tokenHash: 'other' } } },
    { ...REQUEST, subscriber: { ...subscriber, credentialVersion: 2 } },
    { ...REQUEST, serviceId: 8 },
  ];
  for (const other of others)
    expect(resumed(0, other).messages).toEqual([{ type: 'reset', message: UNKNOWN }]);
  const forward = new Client(
    { type: 'resume', session: 'x', received: 0 },
    { ...REQUEST, purpose: 'forward' },
  );
  expect(forward.got('reset')[0]?.message).toContain('must be a request of the kind forward');
  prints('mine');
  expect(resumed(0).output).toBe('mine');
});

test('H835: a number of bytes that the client can not have received is refused, and changes nothing', async () => {
  const { client, prints, resumed } = await opened();
  prints('x'.repeat(PART_BYTES));
  prints('rest');
  client.says({ type: 'read', mark: client.got('mark')[0]?.mark });
  for (const wrong of [0, PART_BYTES - 1, PART_BYTES + 5]) {
    const refused = resumed(wrong);
    expect([refused.got('reset')[0]?.message, refused.closes]).toEqual([
      ...[expect.stringContaining('no output from that byte on'), [1001]],
    ]);
  }
  prints(' and more');
  expect([client.output.slice(PART_BYTES), client.closes]).toEqual(['rest and more', []]);
  client.lost();
  expect(resumed(PART_BYTES).output).toBe('rest and more');
});

test('H836: while its client is away a stream gets no more than a window, and goes on after the marks of that', async () => {
  const { client, prints, resumed } = await opened();
  client.lost();
  for (let n = 0; n < 4; n += 1) prints(String(n).repeat(WINDOW_BYTES / 4));
  clock.pass(MARK_MS);
  expect(grants()).toEqual([]);
  const next = resumed(0);
  expect(next.output.length).toBe(WINDOW_BYTES);
  expect(next.output).toBe(['0', '1', '2', '3'].map((one) => one.repeat(WINDOW_BYTES / 4)).join(''));
  for (const { mark } of next.got('mark')) next.says({ type: 'read', mark });
  expect(grants().reduce((sum, bytes) => sum + bytes, 0)).toBe(WINDOW_BYTES);
});

test('H836: a client that comes back after the end gets the rest of the output and the exit code', async () => {
  const { client, prints, exits, resumed } = await opened();
  client.lost();
  prints('done');
  exits(3);
  expect(left()).toBe(1);
  const next = resumed(0);
  expect([next.output, next.got('end'), next.closes]).toEqual([
    'done',
    [{ type: 'end', exit_code: 3 }],
    [1000],
  ]);
  next.lost();
  // That it has received the end is not known before it answers.
  const again = resumed(4);
  expect(again.got('end')).toEqual([{ type: 'end', exit_code: 3 }]);
  again.lost(1000);
  expect(resumable.size).toBe(0);
});

test('H836: a client that comes back after its host was lost gets the reason, for 120 s', async () => {
  const { client, resumed } = await opened();
  client.lost();
  for (const sink of channels.detach()) sink.detached();
  clock.pass(RESUME_MS - 1);
  expect([resumed(0).got('reset')[0]?.message, left()]).toEqual([
    ...[expect.stringContaining('The host has lost its connection'), 1],
  ]);
  clock.pass(RESUME_MS);
  expect(resumable.size).toBe(0);
});

test('H836: a stream that ends is forgotten once its client has answered the close, or after 120 s', async () => {
  const answered = await opened();
  answered.exits(0);
  expect([answered.client.closes, resumable.size]).toEqual([[1000], 1]);
  answered.client.lost(1000);
  expect(resumable.size).toBe(0);
  const silent = await opened();
  silent.exits(0);
  clock.pass(RESUME_MS);
  expect(resumable.size).toBe(0);
});

test.each([
  ['a control plane', MAX_RESUMABLE.node],
  ['a gateway', MAX_RESUMABLE.gateway],
])(
  'H836: a user has 16 streams that can be resumed, and all of %s have %i; further ones can not',
  async (_, max) => {
    resumable = new ResumableStreams(max);
    for (let n = 0; n < MAX_RESUMABLE_OF_USER; n += 1) expect((await opened()).session).toBeDefined();
    const { client, session } = await opened();
    expect(session).toBeUndefined();
    client.lost();
    expect(ends()).toBe(1);
    for (let n = MAX_RESUMABLE_OF_USER; n < max; n += 1)
      expect((await opened(1, ofUser(100 + n))).session).toBeDefined();
    expect((await opened(1, ofUser(9_999))).session).toBeUndefined();
    expect(resumable.size).toBe(max);
  },
);

test('H689: a stream without a connection is not used, so that it ends after its time without a byte', async () => {
  deps = { ...deps, rules: { ...defaultStreamRules, idleMs: 60_000 } };
  const { client, resumed } = await opened();
  client.lost();
  clock.pass(60_000);
  expect(resumed(0).got('reset')[0]?.message).toContain('carried nothing for 60 s');
});

test('H834: a stream without a connection keeps its gateway awake until it is over, and no longer', async () => {
  const awake = new AwakeTime(() => clock.nowMs());
  const { after, monotonicMs } = TestClock.prototype;
  const own = { after: after.bind(clock), monotonicMs: monotonicMs.bind(clock) };
  deps = { ...deps, clock: awake.clockOf(own) };
  const { client } = await opened();
  client.lost();
  clock.pass(RESUME_MS - 1);
  expect(awake.active).toBeGreaterThan(0);
  clock.pass(1);
  expect([awake.active, resumable.size]).toEqual([0, 0]);
});
