/** The relay of requests to applications: its permits, and what a hostile agent may send. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readConfig } from '../../../../control-plane/config.ts';
import { AppRelay, responseOf } from '../../../../control-plane/coordinator/apps/app-relay.ts';
import { OpenChannels } from '../../../../control-plane/coordinator/connections/open-channels.ts';
import { noTraffic } from '../../../../control-plane/coordinator/connections/traffic.ts';
import type { PlacementSource } from '../../../../control-plane/coordinator/streams/placements.ts';
import {
  defaultStreamRules,
  type StreamRules,
  streamRulesOf,
} from '../../../../control-plane/core/model/stream-rules.ts';
import { decodeChunk } from '../../../../shared/protocol/codec.ts';
import type { Down } from '../../../../shared/protocol/down.ts';
import { encodeAnswerHead, type HeaderPair } from '../../../../shared/streams/app-heads.ts';
import { ADMIN_DOER, ADMIN_SUBSCRIBER } from '../../../support/apps/app-request.ts';
import { PLACED, ScriptedPlacement } from '../../../support/rigs/scripted-placement.ts';
import { eventually } from '../../../support/tools/eventually.ts';

interface Timer {
  delayMs: number;
  run(): void;
}

let timers: Set<Timer>;
let opened: number[];
let opening: Extract<Down, { type: 'channel.open' }>[];
let closed: number[];
let ended: number[];
/** What was sent on all channels. */
let written: string;
let deeds: unknown[];
let permits: ScriptedPlacement[];
let channels: OpenChannels | undefined;
let relay: AppRelay;

beforeEach(() => {
  [timers, opened, opening, closed, deeds, permits] = [new Set(), [], [], [], [], []];
  [ended, written] = [[], ''];
  channels = newChannels();
  relay = relayWith(defaultStreamRules);
});

const relayWith = (rules: StreamRules, place = grant) =>
  new AppRelay({
    clock: {
      monotonicMs: () => 0,
      after: (delayMs, run) => {
        const timer = { delayMs, run };
        timers.add(timer);
        return () => void timers.delete(timer);
      },
    },
    rules,
    place,
    channelsAt: async () => channels,
  });
const grant: PlacementSource['place'] = async (request) => {
  if (request.for.kind === 'stream') deeds.push(request.for.entry);
  const permit = new ScriptedPlacement(PLACED);
  permits.push(permit);
  return permit;
};
afterEach(() => {
  for (const permit of permits) permit.send({ ended: 'the test is over' });
});

function newChannels(): OpenChannels {
  return new OpenChannels({
    traffic: noTraffic(),
    sendText: (message: Down) => {
      if (message.type === 'channel.open') {
        opened.push(message.channel);
        opening.push(message);
      }
      if (message.type === 'channel.reset') closed.push(message.channel);
      if (message.type === 'channel.end') ended.push(message.channel);
    },
    sendBytes: (frame) => {
      written += Buffer.from(decodeChunk(frame).payload).toString();
    },
    refused: (what) => {
      throw new Error(what);
    },
  });
}

const REQUEST = {
  ...{ subscriber: ADMIN_SUBSCRIBER, serviceId: 7, hostId: 1, port: 8080 },
  ...{ method: 'GET', path: '/', headers: [] },
  doer: ADMIN_DOER,
} as const;
const ask = (request: object = {}, signal?: AbortSignal) =>
  relay.request({ ...REQUEST, headers: [], ...request }, { body: null, isUpgrade: false, signal });
const failure = (asked: Promise<unknown>) =>
  asked.then(
    () => undefined,
    (error) => error,
  );
const countOpen = (count: number) => eventually(() => opened.length === count);
const runTimers = (delayMs: number) => {
  for (const timer of [...timers]) if (timer.delayMs === delayMs && timers.delete(timer)) timer.run();
};
/** The agent says that it has opened the nth stream, if something will be written. */
function announce(nth: number): void {
  const { channel = 0, ended } = opening[nth] ?? {};
  if (!ended) channels?.receive({ type: 'channel.opened', channel, credit: 1_000 });
}
/** The agent's answer on the nth stream. */
function answer(nth: number, headers: HeaderPair[], body: string, isWhole = true): void {
  const channel = opened[nth] ?? 0;
  announce(nth);
  const payload = encodeAnswerHead({ status: 200, headers }) ?? new Uint8Array();
  for (const bytes of [payload, Buffer.from(body)])
    if (bytes.length > 0) channels?.chunk({ channel, payload: bytes });
  if (isWhole) channels?.receive({ type: 'channel.end', channel });
}

test('H715, H718: requests of one credential to one port share a permit, which is a line of the audit log and ends a minute after the last', async () => {
  const both = [ask(), ask({ path: '/other' })];
  await countOpen(2);
  expect(deeds).toEqual([{ ...REQUEST.doer, action: 'use-app', fields: ['port=8080'] }]);
  for (const nth of [0, 1]) answer(nth, [], 'x');
  for (const one of await Promise.all(both)) await responseOf(one, 'GET').text();
  expect(permits[0]?.isLeft).toBe(false);
  runTimers(60_000);
  expect(permits[0]?.isLeft).toBe(true);
  const other = ask({ port: 9090 });
  await countOpen(3);
  expect(permits).toHaveLength(2);
  answer(2, [], '');
  await other;
});
test('H715: a request whose permit is never granted fails after a minute, and its place is free', async () => {
  relay = relayWith(defaultStreamRules, () => new Promise(() => {}));
  const asked = failure(ask());
  await eventually(() => [...timers].some(({ delayMs }) => delayMs === 60_000));
  runTimers(60_000);
  expect(await asked).toMatchObject({ code: 'unavailable', message: expect.stringContaining('within 60 s') });
  expect([...timers]).toEqual([]);
});
test('H762: what is known of an earlier request is enough while a permit for the same is alive, and else the body is untouched', async () => {
  const read = () => expect.unreachable('nothing may read the body');
  const known = (request: object = {}) =>
    relay.request(
      { ...REQUEST, headers: [], ...request },
      { body: { read, cancel: () => {} }, isUpgrade: false },
      true,
    );
  expect(await known()).toBeUndefined();
  expect(permits).toEqual([]);
  const first = ask();
  expect(await known()).toBeUndefined();
  await countOpen(1);
  answer(0, [], 'x');
  await first;
  const { subscriber } = REQUEST;
  for (const other of [
    { port: 8081 },
    { hostId: 2 },
    { serviceId: 8 },
    { subscriber: { ...subscriber, userId: 2 } },
    { subscriber: { ...subscriber, credential: { by: 'session', tokenHash: 'other' } } },
  ])
    expect(await known(other)).toBeUndefined();
  const second = relay.request({ ...REQUEST, headers: [] }, { body: null, isUpgrade: false }, true);
  await countOpen(2);
  answer(1, [], 'x');
  expect((await second)?.status).toBe(200);
  expect(permits).toHaveLength(1);
  // Its connection is gone, which the host says when it is asked.
  const stale = known();
  await countOpen(3);
  channels?.receive({ type: 'channel.reset', channel: opened[2] ?? 0, message: 'gone', refused: true });
  expect(await stale).toBeUndefined();
  expect(await known()).toBeUndefined();
});
test('H715: beyond its streams requests wait, and beyond those that may wait they are refused', async () => {
  const settings = { BERTH_LIMITS: JSON.stringify({ appRequests: 6, waitingAppRequests: 4 }) };
  relay = relayWith(streamRulesOf(readConfig(settings).BERTH_LIMITS));
  const leave = new AbortController();
  const all = Array.from({ length: 6 }, () => ask({}, leave.signal).catch(() => {}));
  await countOpen(6);
  const waiting = Array.from({ length: 4 }, () => failure(ask()));
  await eventually(() => [...timers].filter(({ delayMs }) => delayMs === 5_000).length === 4);
  await expect(ask()).rejects.toMatchObject({
    ...{ code: 'unavailable', retryAfterS: 2 },
    message: 'You have 6 requests to this application under way, which is the most. Try again in a moment.',
  });
  leave.abort();
  await Promise.all(all);
  await countOpen(10);
  const more = Array.from({ length: 3 }, () => failure(ask()));
  await eventually(() => [...timers].some(({ delayMs }) => delayMs === 5_000));
  runTimers(5_000);
  permits[0]?.send({ ended: 'Your session has ended.' });
  for (const one of await Promise.all([...waiting, ...more.slice(0, 2)]))
    expect(one).toMatchObject({ message: 'Your session has ended.' });
});
test('H784: one user leaves some of the streams of a host to the applications of others', async () => {
  const many = (port: number) =>
    Array.from({ length: defaultStreamRules.appRequests }, () => ask({ port }).catch(() => {}));
  const all = [...many(8080), ...many(8081)];
  await countOpen(128);
  await expect(ask({ port: 8082 })).rejects.toMatchObject({
    ...{ code: 'unavailable', retryAfterS: 2 },
    message: expect.stringContaining('You have 128 requests to applications of this host'),
  });
  const other = ask({ subscriber: { ...ADMIN_SUBSCRIBER, userId: 2 } });
  await countOpen(128 + 1);
  answer(128, [], 'theirs');
  expect(await responseOf(await other, 'GET').text()).toBe('theirs');
  for (const permit of permits) permit.send({ ended: 'the test is over' });
  await Promise.all(all);
});
test('H761: applications leave a quarter of the streams of a host to others, as many as that are', async () => {
  relay = relayWith(
    streamRulesOf(readConfig({ BERTH_LIMITS: JSON.stringify({ streamsPerHost: 8 }) }).BERTH_LIMITS),
  );
  for (let nth = 1; nth <= 6; nth++) {
    void ask({ subscriber: { ...ADMIN_SUBSCRIBER, userId: nth % 2 } }).catch(() => {});
    await countOpen(nth);
  }
  await expect(ask()).rejects.toMatchObject({ code: 'unavailable', retryAfterS: 2 });
  answer(0, [], '');
  await eventually(() => channels?.streams === 5);
  void ask().catch(() => {});
  await countOpen(7);
});
test('H716: when access ends, all requests under the permit end at once, and those that wait', async () => {
  const both = [ask(), ask()].map((one) => one.then(undefined, (error) => error));
  await countOpen(2);
  answer(0, [['content-length', '100']], 'x', false);
  const begun = await both[0];
  permits[0]?.send({ ended: 'Your session has ended.' });
  expect(await both[1]).toMatchObject({ code: 'unavailable', message: 'Your session has ended.' });
  await expect(responseOf(begun, 'GET').text()).rejects.toThrow();
  expect(closed).toEqual(opened);
});
test('H717: a permit whose connection is gone, or whose start is over, is replaced by the next request', async () => {
  const first = ask();
  await countOpen(1);
  answer(0, [], 'x');
  await (await first).read();
  const second = ask();
  await countOpen(2);
  const reset = { type: 'channel.reset', refused: true, message: 'not running' } as const;
  channels?.receive({ ...reset, channel: opened[1] ?? 0 });
  await countOpen(3);
  expect(permits).toHaveLength(2);
  channels?.receive({ ...reset, channel: opened[2] ?? 0 });
  await expect(second).rejects.toMatchObject({ code: 'unavailable', message: 'not running' });
  channels = undefined;
  await expect(ask()).rejects.toMatchObject({ message: 'The host has lost its connection.' });
});
test.each([
  ['longer', [['content-length', '3']], 'four'],
  ['shorter', [['content-length', '5']], 'four'],
])(
  'P279: an answer that is %s than its content-length is broken for the client',
  async (_, headers, body) => {
    const asked = ask();
    await countOpen(1);
    answer(0, headers as HeaderPair[], body);
    await expect(responseOf(await asked, 'GET').text()).rejects.toThrow();
  },
);
test('P279: an answer with two lengths, or to a request without a body, brings no bytes with it, and a stream that ends before its answer begins is unavailable', async () => {
  const asked = failure(ask());
  await countOpen(1);
  const lengths = ['1', '9'].map((length): HeaderPair => ['content-length', length]);
  answer(0, lengths, 'four');
  expect(await asked).toMatchObject({ code: 'unavailable' });
  const head = ask({ method: 'HEAD' });
  await countOpen(2);
  answer(1, [['content-length', '4']], 'four');
  expect(await responseOf(await head, 'HEAD').text()).toBe('');
  const third = failure(ask());
  await countOpen(3);
  channels?.receive({ type: 'channel.end', channel: opened[2] ?? 0 });
  expect(await third).toMatchObject({ message: 'The agent has ended the stream without an answer.' });
});

const turns = async () => {
  for (let n = 0; n < 5; n++) await new Promise(setImmediate);
};
/** The head of an answer on the nth stream, and nothing else. */
async function answerHead(nth: number, head: Parameters<typeof encodeAnswerHead>[0]) {
  await countOpen(nth + 1);
  const channel = opened[nth] ?? 0;
  announce(nth);
  const payload = encodeAnswerHead(head) ?? Buffer.from('no head');
  channels?.chunk({ channel, payload });
}

test.each([
  ['a body without a length', [], { chunked: true }],
  ['a body with its length', [['content-length', '8']], {}],
] as const)('P275: %s is sent after the head, and then the end', async (_, headers, expected) => {
  const parts = ['one', ' two', ' x'].map((text) => Buffer.from(text));
  let isCancelled = false;
  const body = {
    read: async () => parts.shift(),
    cancel: () => {
      isCancelled = true;
    },
  };
  const asked = relay.request(
    { ...REQUEST, method: 'POST', headers: [...headers] as HeaderPair[] },
    { body, isUpgrade: false },
  );
  await answerHead(0, { status: 200, headers: [] });
  const answered = await asked;
  await eventually(() => ended.length === 1);
  expect(written).toBe('one two x');
  expect(opening[0]?.target).toMatchObject({ head: { method: 'POST', path: '/', headers, ...expected } });
  expect(isCancelled).toBe(false);
  channels?.receive({ type: 'channel.end', channel: opened[0] ?? 0 });
  expect(await answered.read()).toBeUndefined();
  expect(isCancelled).toBe(true);
});
test('P275: a body that its client breaks off ends the request', async () => {
  let isCancelled = false;
  const body = {
    read: () => Promise.reject(new Error('gone')),
    cancel: () => {
      isCancelled = true;
    },
  };
  const asked = failure(relay.request({ ...REQUEST, headers: [] }, { body, isUpgrade: false }));
  await countOpen(1);
  channels?.receive({ type: 'channel.opened', channel: opened[0] ?? 0, credit: 1_000 });
  expect(await asked).toMatchObject({ code: 'unavailable', message: 'The request was given up.' });
  expect([isCancelled, closed]).toEqual([true, opened]);
});
function statedLength(length: string) {
  return { status: 200, headers: [['content-length', length]] };
}

test.each([
  ['a protocol that was not asked for', { status: 101, headers: [] }, /another protocol unasked/],
  ['a problem', { problem: 'Nothing listens at port 8080.' }, /Nothing listens/],
  ['a length of letters', statedLength('1x'), /length/],
  ['a length beyond all bounds', statedLength('1234567890123456'), /length/],
])('P279: an answer with %s is unavailable, and its stream ends', async (_, head, message) => {
  const asked = failure(ask());
  await answerHead(0, head as Parameters<typeof encodeAnswerHead>[0]);
  expect(await asked).toMatchObject({ code: 'unavailable', message: expect.stringMatching(message) });
  await eventually(() => closed.length === 1);
});
test('P277: an upgrade that is accepted carries bytes both ways, and sends no end', async () => {
  const asked = relay.request({ ...REQUEST, headers: [] }, { body: null, isUpgrade: true });
  await answerHead(0, { status: 101, headers: [] });
  const { status, read, pipe } = await asked;
  channels?.chunk({ channel: opened[0] ?? 0, payload: Buffer.from('from it') });
  expect([status, Buffer.from((await read()) ?? []).toString()]).toEqual([101, 'from it']);
  await pipe.write(Buffer.from('to it'));
  expect([written.endsWith('to it'), ended, closed]).toEqual([true, [], []]);
});
test.each([
  ['while it waits for its answer', false],
  ['before it has begun', true],
])('H711: a client that has gone %s ends its stream', async (_, isGone) => {
  const client = new AbortController();
  if (isGone) client.abort();
  const asked = failure(ask({}, client.signal));
  await countOpen(1);
  await turns();
  client.abort();
  expect(await asked).toMatchObject({ code: 'unavailable', message: 'The request was given up.' });
  expect([closed, channels?.streams]).toEqual([opened, 0]);
});
test('H711: a reader that leaves an answer ends its stream', async () => {
  const asked = ask();
  await answerHead(0, { status: 200, headers: [] });
  await responseOf(await asked, 'GET').body?.cancel();
  expect(closed).toEqual(opened);
});
test('H715: a request that waits has the place of the first that ends, and none once its client has gone or after 5 s', async () => {
  relay = relayWith({ ...defaultStreamRules, appRequests: 1, waitingAppRequests: 3 });
  const first = ask();
  await countOpen(1);
  const [gone, next, late] = [new AbortController(), ask(), failure(ask())];
  const left = failure(ask({}, gone.signal));
  gone.abort();
  expect(await left).toMatchObject({ message: 'The request was given up.' });
  expect(opened).toHaveLength(1);
  answer(0, [], 'x');
  await responseOf(await first, 'GET').text();
  await countOpen(2);
  runTimers(5_000);
  expect(await late).toMatchObject({
    message: expect.stringContaining('You have 1 requests'),
    retryAfterS: 2,
  });
  answer(1, [], 'x');
  await responseOf(await next, 'GET').text();
  expect([...timers].map(({ delayMs }) => delayMs)).toContain(60_000);
  const again = ask();
  await countOpen(3);
  expect([...timers].map(({ delayMs }) => delayMs)).not.toContain(60_000);
  answer(2, [], 'x');
  await responseOf(await again, 'GET').text();
  expect(permits).toHaveLength(1);
});
test('H716: a permit of a coordinator that has restarted ends its requests, and is returned', async () => {
  const asked = failure(ask());
  await countOpen(1);
  permits[0]?.close();
  expect(await asked).toMatchObject({ message: 'The control plane has restarted. Try again.' });
  await turns();
  expect([closed, permits[0]?.isLeft, [...timers].filter(({ delayMs }) => delayMs === 60_000)]).toEqual([
    opened,
    true,
    [],
  ]);
});
