import { beforeEach, expect, test } from 'vitest';
import { EventRelay } from '../../../control-plane/coordinator/streams/event-relay.ts';
import { EventRing } from '../../../control-plane/core/streams/event-ring.ts';
import type { ClusterEvent, EventSubscriber } from '../../../control-plane/core/streams/events.ts';
import { eventText } from '../../../control-plane/http/api/events.ts';
import { groupA } from '../../../control-plane/http/variants/group-a.ts';
import { everything, FrameReader } from '../../support/clients/frame-reader.ts';
import { CoordinatorRig, codeOf } from '../../support/rigs/coordinator-rig.ts';
import { lowDisk } from '../../support/rigs/core-rig.ts';
import { eventually } from '../../support/tools/eventually.ts';

let rig: CoordinatorRig;
beforeEach(async () => {
  rig = await CoordinatorRig.open();
  // The host has not connected yet, which is the first event.
  await rig.coordinator.ready();
});

/** Events that follow others closely are delivered after a delay. */
const delivered = (events: FrameReader, text: string): Promise<void> => {
  rig.clock.pass(100);
  return events.until(text);
};
const MINUTE_MS = 60_000;
const open = async (subscriber: Partial<EventSubscriber> = {}): Promise<FrameReader> =>
  new FrameReader(await rig.coordinator.openEvents({ ...everything, ...subscriber }));

test('C140: no event of a turn is sent before its commit', async () => {
  const events = await open();
  await events.until('hello');
  const commit = rig.db.hold();
  const submitted = rig.submit();
  await commit.begun;
  // A subscriber that opens during the turn receives hello only after the commit.
  const late = open();
  expect(events.received).toEqual(['hello']);
  commit.release();
  await submitted;
  await delivered(events, 'execution 1 queued');
  await (await late).until('hello');
});

test('C140: a failed commit sends no events: streams end, and begin again with reset', async () => {
  const events = await open();
  await rig.submit();
  await delivered(events, 'execution 1 queued');
  rig.db.failing = 'committed';
  expect(await codeOf(rig.submit())).toBe('unavailable');
  await eventually(() => events.ended);
  expect(events.received).toEqual(['hello', 'execution 1 queued']);
  rig.db.failing = 'no';
  const back = await open({ lastEventId: events.lastId });
  await back.until('reset');
  await rig.submit();
  await delivered(back, 'execution 3 queued');
  expect(back.received).toEqual(['reset', 'execution 3 queued']);
});

test('C140: streams end at a coordinator once another has taken over', async () => {
  const { coordinator: old } = rig;
  const events = await open();
  rig.restart();
  await rig.submit();
  const change = { kind: 'update-user', id: 1, changes: { email: 'new' } } as const;
  expect(await codeOf(old.changeAccounts(change))).toBe('unavailable');
  await eventually(() => events.ended);
});

test('C140, C83: the conditions of a host are sent, although they are in no row, and one whose agent connects again without them takes services again', async () => {
  const agent = await rig.agent().join();
  const events = await open();
  agent.sendMessage({ type: 'report', sequence: 1, observations: [], forgotten: [], conditions: [lowDisk] });
  await delivered(events, 'host 1 paused');
  agent.sendMessage({ type: 'report', sequence: 2, observations: [], forgotten: [], conditions: [] });
  await delivered(events, 'host 1 ready');
  agent.sendMessage({ type: 'report', sequence: 3, observations: [], forgotten: [], conditions: [lowDisk] });
  await delivered(events, 'host 1 paused');
  await rig.submit();
  expect(agent.socket.all('start')).toEqual([]);
  const again = await rig.agent().join();
  expect(again.socket.all('sync').flatMap(({ assignments }) => assignments)).toHaveLength(1);
});

const event = (id: number): ClusterEvent => ({
  ...{ kind: 'execution', id, name: 'run', userId: 1, userName: 'alice', status: 'queued' },
});

/** Counts how many events were read. */
class CountingRing extends EventRing {
  reads = 0;
  override at(sequence: number): ClusterEvent | undefined {
    this.reads += 1;
    return super.at(sequence);
  }
}

test('C141: a stalled subscriber causes only one chunk, and receives reset if it continues too late', async () => {
  const ring = new CountingRing(1);
  const relay = new EventRelay(everything, ring, 0, () => {});
  for (let id = 1; id <= 20_000; id++) {
    ring.add(event(id));
    relay.update();
  }
  expect(ring.reads).toBeLessThan(1_000);
  const events = new FrameReader(relay.stream);
  await events.until('reset');
  ring.add(event(20_001));
  relay.update();
  await delivered(events, 'execution 20001 queued');
  const ids = events.frames.flatMap((frame) => ('id' in frame.event ? [frame.event.id] : []));
  const before = ids.slice(0, -1);
  expect(before).toEqual(before.map((_, index) => index + 1));
  expect(events.received.slice(-2)).toEqual(['reset', 'execution 20001 queued']);
});

test('C141: a burst arrives in order, complete and without repetition, in reads of any size', async () => {
  const ring = new EventRing(1);
  const relay = new EventRelay(everything, ring, 0, () => {});
  const events = new FrameReader(relay.stream);
  for (let id = 1; id <= 4_900; id++) ring.add(event(id));
  relay.update();
  await delivered(events, 'execution 4900 queued');
  expect(events.received.slice(1)).toEqual(
    Array.from({ length: 4_900 }, (_, n) => `execution ${n + 1} queued`),
  );
});

test('C143: an event after a quiet moment is sent at once, and closely following ones together', async () => {
  const events = await open();
  await events.until('hello');
  await rig.submit();
  await events.until('execution 1 queued');
  await rig.submit();
  await rig.submit();
  const late = await open();
  await late.until('hello');
  // A subscriber that opens meanwhile receives only later events.
  expect(events.received).toEqual(['hello', 'execution 1 queued']);
  rig.clock.pass(100);
  await events.until('execution 3 queued');
  expect(events.received.slice(2)).toEqual(['execution 2 queued', 'execution 3 queued']);
  rig.clock.pass(-MINUTE_MS);
  await rig.submit();
  await events.until('execution 4 queued');
});

test('C142: a subscriber whose user has changed since its admission gets no stream', async () => {
  const change = { kind: 'update-user', id: 1, changes: { passwordHash: 'x' } } as const;
  const [before, changed, after] = await Promise.allSettled([
    open(),
    rig.coordinator.changeAccounts(change),
    open(),
  ]);
  expect([before.status, changed.status, after.status]).toEqual(['rejected', 'fulfilled', 'rejected']);
  expect(await codeOf(open())).toBe('unauthenticated');
  expect(await codeOf(open({ credentialVersion: 2 }))).toBe('fulfilled');
});

test('C142: a change that ends sessions ends the stream, and no other change does', async () => {
  const events = await open();
  const change = (changes: object) => rig.coordinator.changeAccounts({ kind: 'update-user', id: 1, changes });
  await change({ email: 'new', priority: 3 });
  await rig.submit();
  await delivered(events, 'execution 1 queued');
  expect(events.ended).toBe(false);
  await change({ passwordHash: 'x' });
  await eventually(() => events.ended);
});

test('H293: a subscriber receives a heartbeat with its position every 15 s', async () => {
  const events = await open({ userId: 1, seesOthers: false, seesHosts: false });
  await events.until('hello');
  await rig.agent().join();
  expect(events.received).toEqual(['hello']);
  rig.clock.pass(15_000);
  await events.until('beat');
  expect(events.lastId).not.toBe(events.frames[0]?.id);
  rig.clock.pass(15_000);
  await eventually(() => events.received.length === 3);
  expect(events.received).toEqual(['hello', 'beat', 'beat']);
});

test('H293: the heartbeat is a comment with an id, which clients remember', async () => {
  const stream = eventText(await rig.coordinator.openEvents(everything), groupA);
  const text = new Response(stream).text();
  await rig.submit();
  rig.clock.pass(15_000);
  rig.coordinator.endEvents();
  const [retry, ...rest] = (await text).split('\n\n');
  expect(retry).toMatch(/^retry: \d{3,4}$/);
  expect(rest).toEqual([
    'event: hello\nid: 1-1\ndata: {}',
    'event: execution\nid: 1-2\ndata: {"id":1,"name":"run","user_id":"alice","status":"scheduled"}',
    ':\nid: 1-2',
    '',
  ]);
});

test('H297: the starting position is known before anything has happened, and nothing after it is missed', async () => {
  rig.restart();
  const lastEventId = await rig.coordinator.lastEventId();
  const submitted = rig.submit();
  const events = await open({ lastEventId });
  await submitted;
  await delivered(events, 'execution 1 queued');
  expect(events.received).not.toContain('reset');
  rig.db.failing = 'unreachable';
  rig.restart();
  expect(await codeOf(rig.coordinator.lastEventId())).toBe('unavailable');
});

test('H297: the starting position is known during the first commit of a coordinator, and precedes it', async () => {
  rig.restart();
  const commit = rig.db.hold();
  const submitted = rig.submit();
  await commit.begun;
  const lastEventId = await rig.coordinator.lastEventId();
  expect(lastEventId).not.toBeNull();
  commit.release();
  await submitted;
  const events = await open({ lastEventId });
  await delivered(events, 'execution 1 queued');
  expect(events.received).not.toContain('reset');
});

test('H294: a stream ends after 10 minutes, and the next one continues at its position', async () => {
  const events = await open();
  await events.until('hello');
  for (let n = 0; n < 39; n++) rig.clock.pass(15_000);
  await rig.submit();
  await delivered(events, 'execution 1 queued');
  expect(events.ended).toBe(false);
  rig.clock.pass(15_000);
  await eventually(() => events.ended);
  await rig.submit();
  const back = await open({ lastEventId: events.lastId });
  await delivered(back, 'execution 2 queued');
  expect(back.received).toEqual(['execution 2 queued']);
  rig.clock.pass(MINUTE_MS);
  await back.until('beat');
});

test('H295: a user may have 50 streams, and one that is closed permits another', async () => {
  const all = await Promise.all(Array.from({ length: 50 }, () => open()));
  await expect(open()).rejects.toMatchObject({ code: 'too-many', retryAfterS: 15 });
  await all[7]?.leave();
  await open();
  expect(await codeOf(open())).toBe('too-many');
});

test('H295: all users together may have 1,000 streams', async () => {
  for (let id = 2; id < 22; id++) await rig.addUser(id, 3);
  rig.restart();
  const streams = Array.from({ length: 1_000 }, (_, n) => open({ userId: 2 + (n % 20) }));
  await Promise.all(streams);
  expect(await codeOf(open())).toBe('unavailable');
  await rig.coordinator.reviewSubscriptions(2);
  expect(await codeOf(open())).toBe('fulfilled');
});
