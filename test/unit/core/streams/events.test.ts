import { expect, test } from 'vitest';
import { EventRing } from '../../../../control-plane/core/streams/event-ring.ts';
import { type ClusterEvent, eventsOf, isFor } from '../../../../control-plane/core/streams/events.ts';
import { application } from '../../../support/fixtures/applications.ts';
import {
  CoreRig,
  exited,
  gone,
  hostFacts,
  Life,
  lowDisk,
  pairWith,
  running,
} from '../../../support/rigs/core-rig.ts';

/** The events since the last call, in short. */
function newEvents({ cluster }: CoreRig): string[] {
  return eventsOf(cluster, cluster.takeChanges()).map((event) =>
    event.kind === 'host'
      ? `host ${event.name} ${event.state}`
      : `${event.kind} ${event.name} ${event.status}`,
  );
}
/** An execution on a cluster of one host, all of whose events are pending. */
function submitted(description = application()): Life {
  const rig = new CoreRig();
  rig.join(hostFacts('one'));
  newEvents(rig);
  return new Life(rig, rig.submitInTurn(description));
}

test('C140: each object that a turn has changed gets one event, with its state after the turn, also at the end, when it is no longer in the live state', () => {
  const { rig, web } = submitted();
  expect(newEvents(rig)).toEqual(['execution run starting', 'service web0 starting']);
  rig.see(web, running);
  expect(newEvents(rig)).toEqual(['execution run running', 'service web0 active']);
  rig.turn();
  expect(newEvents(rig)).toEqual([]);
  rig.see(web, exited(0));
  newEvents(rig);
  rig.see(web, gone);
  expect(rig.cluster.executions.size).toBe(0);
  expect(newEvents(rig)).toEqual(['execution run terminated', 'service web0 inactive']);
});

test('C140: a deletion is the last event of its execution, and is sent once', () => {
  const { rig, execution, web } = submitted();
  rig.see(web, running);
  newEvents(rig);
  rig.remove(execution);
  expect(newEvents(rig)).toEqual(['execution run deleted']);
  rig.see(web, gone);
  rig.report(rig.hostOf(web), [], [web.id]);
  expect(rig.cluster.executions.size).toBe(0);
  expect(newEvents(rig)).toEqual([]);
});

test('C140, C150: the progress of a start gets an event, and is cut to 500 characters, so that the size of retained events has a bound', () => {
  const { rig, web } = submitted();
  newEvents(rig);
  rig.see(web, { state: 'preparing', detail: 'pulling, 40 %' });
  const [event, ...more] = eventsOf(rig.cluster, rig.cluster.takeChanges());
  expect(event).toMatchObject({ kind: 'service', status: 'starting', progress: 'pulling, 40 %', userId: 1 });
  expect(more).toEqual([]);
  rig.see(web, { state: 'preparing', detail: 'x'.repeat(1_000_000) });
  const [long] = eventsOf(rig.cluster, rig.cluster.takeChanges());
  expect(long?.kind === 'service' && long.progress.length).toBe(500);
});

test('C140: a host gets an event when it joins, has a condition, is drained, is empty, disconnects and is removed', () => {
  const rig = new CoreRig();
  const host = rig.hello(hostFacts('one'));
  rig.turn();
  expect(newEvents(rig)).toEqual(['host one ready']);
  host.conditions = [lowDisk];
  rig.cluster.changes.conditions.add(host);
  rig.turn();
  expect(newEvents(rig)).toEqual(['host one paused']);
  host.conditions = [];
  rig.cluster.changes.conditions.add(host);
  const { web } = new Life(rig, rig.submitInTurn());
  rig.see(web, running);
  newEvents(rig);
  rig.change(host, { schedulable: false });
  expect(newEvents(rig)).toEqual(['host one draining']);
  rig.see(web, exited(0), gone);
  expect(newEvents(rig)).toContain('host one drained');
  rig.disconnect(host);
  expect(newEvents(rig)).toEqual(['host one disconnected']);
  rig.removeHost(host);
  expect(newEvents(rig)).toEqual(['host one removed']);
});

test('C140: an elastic service that dies gets events when it stops and when its container is gone', () => {
  const { rig, web, side } = submitted(pairWith({ essential_count: 0 }));
  for (const one of [web, side]) rig.see(one, running);
  newEvents(rig);
  rig.see(side, exited(1));
  expect(newEvents(rig)).toEqual(['service side0 terminating']);
  rig.see(side, gone);
  expect(newEvents(rig)).toEqual(['service side0 inactive']);
});

const execution: ClusterEvent = {
  ...{ kind: 'execution', id: 1, name: 'run', userId: 2, userName: 'bob', status: 'queued' },
};
const host: ClusterEvent = { kind: 'host', id: 1, name: 'one', state: 'ready' };

test("H291: an event is for the owner and for users who see others' executions, a host's event for users who see hosts", () => {
  const none = { userId: 1, seesOthers: false, seesHosts: false };
  expect(isFor(none, execution)).toBe(false);
  expect(isFor(none, host)).toBe(false);
  expect(isFor({ ...none, userId: 2 }, execution)).toBe(true);
  expect(isFor({ ...none, seesOthers: true }, execution)).toBe(true);
  expect(isFor({ ...none, seesOthers: true }, host)).toBe(false);
  expect(isFor({ ...none, seesHosts: true }, execution)).toBe(false);
  expect(isFor({ ...none, seesHosts: true }, host)).toBe(true);
});

test('H292: a subscriber continues after any retained event, and after no other', () => {
  const ring = new EventRing(7, 3);
  expect([ring.after('7-0'), ring.after('7-1'), ring.after('6-0')]).toEqual([1, undefined, undefined]);
  for (let id = 1; id <= 5; id++) ring.add({ ...execution, id });
  const ids = [
    '7-1',
    '7-2',
    '7-4',
    '7-5',
    '7-6',
    '6-4',
    '',
    '7',
    '7-4x',
    '-4',
    '7--4',
    `7-${'9'.repeat(40)}`,
  ];
  expect(ids.map((id) => ring.after(id))).toEqual([undefined, 3, 5, 6, ...Array(8).fill(undefined)]);
  expect([3, 4, 5, 6].map((sequence) => ring.at(sequence)?.id)).toEqual([3, 4, 5, undefined]);
  expect([2, 3, 6, 7].map((sequence) => ring.has(sequence))).toEqual([false, true, true, false]);
});
