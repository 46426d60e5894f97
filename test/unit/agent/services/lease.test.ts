import { readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { beforeEach, expect, test } from 'vitest';
import { EngineError } from '../../../../agent/engine/engine.ts';
import { decommission } from '../../../../agent/services/decommission.ts';
import { Lease, type Moment } from '../../../../agent/services/lease.ts';
import type { IdRange } from '../../../../shared/protocol/assignment.ts';
import { closeCodes } from '../../../../shared/protocol/close.ts';
import { PROTOCOL_VERSION } from '../../../../shared/protocol/version.ts';
import { AgentMachine } from '../../../support/agents/agent-machine.ts';
import type { PeerConnection } from '../../../support/agents/control-plane-peer.ts';
import type { FakeEngine } from '../../../support/engines/fake-engine.ts';
import { assignment } from '../../../support/fixtures/assignments.ts';
import { eventually } from '../../../support/tools/eventually.ts';

const LEASE_MS = 90_000;
const HOUR_MS = 3_600_000;
const unknown = [{ first: 7, last: 7 }];

let machine: AgentMachine;
let engine: FakeEngine;
let at: Moment;
let expired: (readonly IdRange[])[];
let unwritten: string[];
beforeEach(() => {
  [expired, unwritten] = [[], []];
  at = { uptimeMs: 1_000_000, wallMs: 5_000_000 };
  machine = new AgentMachine({ now: () => at });
  engine = machine.engine;
});

const pass = (ms: number, wallMs = ms) => {
  at = { uptimeMs: at.uptimeMs + ms, wallMs: at.wallMs + wallMs };
};

const open = () =>
  new Lease({
    file: `${machine.folder}/lease.json`,
    now: () => at,
    log: (event, fields) => unwritten.push(JSON.stringify({ event, ...fields })),
    onExpired: (ranges) => expired.push(ranges),
  });
const granted = () => {
  const lease = open();
  lease.replace(LEASE_MS, lease.now());
  return lease;
};
/** It expires after this time, and not before. */
const expectEnd = (lease: Lease, ms: number) => {
  const before = expired.length;
  expect([lapsesAfter(lease, ms - 1), lapsesAfter(lease, 1)]).toEqual([before, before + 1]);
};
/** How often it has expired, this much later. */
const lapsesAfter = (lease: Lease, ms: number, wallMs = ms) => {
  pass(ms, wallMs);
  lease.check();
  return expired.length;
};

test('P32: the lease expires once, counted from the sending of the latest message that was answered', () => {
  const lease = granted();
  const earlier = lease.now();
  pass(30_000);
  const sent = lease.now();
  pass(10_000);
  lease.confirm(sent);
  lease.confirm(earlier);
  expectEnd(lease, LEASE_MS - 10_000);
  expect(lapsesAfter(lease, 1_000_000)).toBe(1);
});
test('P32: each answer renews the lease, even after its expiry', () => {
  const lease = granted();
  pass(LEASE_MS - 1);
  lease.confirm(lease.now());
  expectEnd(lease, LEASE_MS);
  lease.confirm(lease.now());
  expect(lapsesAfter(lease, LEASE_MS)).toBe(2);
});
test('P32: nothing expires without a lease, and a welcome without a lease ends it', () => {
  const lease = open();
  expect(lapsesAfter(lease, 10 * LEASE_MS)).toBe(0);
  lease.replace(LEASE_MS, lease.now());
  lease.replace(undefined, lease.now());
  expect(lapsesAfter(lease, 10 * LEASE_MS)).toBe(0);
  expect(open().leaseMs).toBeUndefined();
});
test('P32: a wall clock that is set forward is not trusted until an answer fails to arrive', () => {
  const lease = granted();
  expect(lapsesAfter(lease, 1_000, HOUR_MS)).toBe(0);
  lease.confirm(lease.now());
  expect(lapsesAfter(lease, 20_000)).toBe(0);
  expect(lapsesAfter(lease, 1_000, HOUR_MS)).toBe(0);
  expect(lapsesAfter(lease, 15_000)).toBe(1);
});
test('P32: the doubt about a wall clock begins anew after the clock was right meanwhile', () => {
  const lease = granted();
  expect(lapsesAfter(lease, 0, HOUR_MS)).toBe(0);
  expect(lapsesAfter(lease, 16_000, 16_000 - HOUR_MS)).toBe(0);
  expect(lapsesAfter(lease, 0, HOUR_MS)).toBe(0);
  expect(lapsesAfter(lease, 15_000)).toBe(1);
});
test('P32: the next process continues the lease from the last answer on the disk', () => {
  const lease = granted();
  pass(10_000);
  lease.confirm(lease.now());
  const next = open();
  expect(next.leaseMs).toBe(LEASE_MS);
  expectEnd(next, LEASE_MS);
});
test('P32: the lease of this process is in force even if the disk refuses the file', async () => {
  await mkdir(`${machine.folder}/lease.json.new`);
  const lease = granted();
  pass(10_000);
  lease.confirm(lease.now());
  expectEnd(lease, LEASE_MS);
  expect(unwritten).toHaveLength(2);
  expect(unwritten[0]).toContain('EISDIR');
});
test('P30, P32: an expiry names the services that the last sync left alone, even after another welcome', () => {
  const lease = granted();
  lease.setUnknown(unknown);
  lease.replace(LEASE_MS, lease.now());
  expect(lapsesAfter(lease, LEASE_MS)).toBe(1);
  expect(expired).toEqual([unknown]);
});

const both = [assignment(), assignment({ service: 7 })];
const running = () => machine.run(both, { leaseMs: LEASE_MS });
const services = () => [...engine.containers.values()].map(({ service }) => service);
const givenUp = (service: number) => ({ service, generation: 1, state: 'gone', lapsed: true });
const isLogged = (word: string) => machine.rig.log.some((line) => line.includes(word));
const expire = () => {
  pass(LEASE_MS);
  machine.rig.lease.check();
};
const lapse = async (connection: PeerConnection): Promise<PeerConnection> => {
  expire();
  await eventually(() => engine.containers.size === 0);
  connection.terminate();
  return machine.rig.peer.connection(2);
};

test('P33: an agent whose lease has expired removes its containers, preserves the output, and reports it in its hello', async () => {
  const connection = await running();
  // The disk may refuse the marks.
  await mkdir(`${machine.folder}/data/1/1.lapsed`);
  const { inventory, leaseMs } = await (await lapse(connection)).hello();
  expect(inventory).toEqual([givenUp(1), givenUp(7)]);
  expect(leaseMs).toBe(LEASE_MS);
  expect(isLogged('lapsed-mark.write-failed')).toBe(true);
  const file = await machine.rig.output.open({ service: 1, generation: 1 });
  expect(await file?.close()).toBeUndefined();
});
test('P33, P60: keys that were given up do not start again, and nothing is left of one once its gone is acknowledged', async () => {
  const again = await lapse(await running());
  // The container still existed at the hello, so the sync may name it.
  again.welcome([assignment(), assignment({ service: 7, generation: 2 })], { leaseMs: LEASE_MS });
  expect(await again.reported(1, 'gone')).toMatchObject({ lapsed: true });
  await again.reported(7, 'running');
  const created = engine.calls.filter((call) => call.startsWith('create'));
  expect(created).toEqual(['create 1.1', 'create 7.1', 'create 7.2']);
  const { output } = machine.rig;
  expect(output.lapsedKeys()).toContainEqual({ service: 1, generation: 1 });
  again.send({ type: 'ack', sequence: again.reports().at(-1)?.sequence ?? 0 });
  await eventually(() => !output.isLapsed(assignment()));
  expect(output.wasStarted(assignment())).toBe(false);
});
test('P33: a key that was given up while its start failed counts as given up', async () => {
  const failing = engine.hold('start');
  const connection = await machine.welcome([assignment()], { leaseMs: LEASE_MS });
  await eventually(() => engine.calls.some((call) => call.startsWith('start')));
  expire();
  failing.reject(new EngineError('permanent', 'Server Error'));
  await eventually(() => engine.containers.size === 0);
  connection.terminate();
  const { inventory } = await (await machine.rig.peer.connection(2)).hello();
  expect(inventory).toEqual([givenUp(1)]);
});
test('P5, P60: a key that has a container keeps its mark, even if its gone was acknowledged', async () => {
  await running();
  machine.rig.agent.conclude(assignment());
  expect(machine.rig.output.wasStarted(assignment())).toBe(true);
});
test('P33: a container that ends while a new process of the agent waits for its first sync is not given up', async () => {
  await running();
  const next = await machine.restart();
  await next.hello();
  const first = [...engine.containers.values()].find(({ service }) => service === 1);
  engine.exit(first?.id ?? '', 3);
  await eventually(() => machine.rig.agent.inventory().some(({ state }) => state === 'exited'));
  expire();
  next.terminate();
  const { inventory } = await (await machine.rig.peer.connection(2)).hello();
  expect(inventory.find(({ service }) => service === 1)).toMatchObject({ state: 'exited', exitCode: 3 });
});
test('P33: the agent of a removed host ends even if its lease expires meanwhile', async () => {
  await running();
  const stopped = engine.hold('stop');
  const left = decommission(machine.rig.agent, () => {}, new AbortController().signal);
  expire();
  stopped.resolve();
  expect(await left).toBe(true);
  expect(engine.containers.size).toBe(0);
});
test('P80: a start that was sent before the expiry starts nothing, and ends the connection', async () => {
  const connection = await running();
  pass(LEASE_MS);
  connection.start(assignment({ service: 8 }));
  await (await machine.rig.peer.connection(2)).hello();
  expect(connection.closeCode).toBe(closeCodes.resync.code);
  await eventually(() => engine.containers.size === 0);
  expect(engine.calls).not.toContain('create 8.1');
});
test('P80: a sync that arrives after the expiry starts nothing, even if its welcome arrived in time', async () => {
  const connection = await machine.begin();
  const welcome = { type: 'welcome', version: PROTOCOL_VERSION, session: 's' } as const;
  connection.send({ ...welcome, reportPeriodMs: 60_000, timeMs: 0, leaseMs: LEASE_MS });
  await eventually(() => machine.rig.lease.leaseMs === LEASE_MS);
  pass(LEASE_MS);
  connection.send({ type: 'sync', revision: 1, assignments: [assignment()], more: false });
  const again = await machine.rig.peer.connection(2);
  expect((await again.hello()).inventory).toEqual([]);
  await again.run([assignment()], { leaseMs: LEASE_MS });
  expect(engine.calls.filter((call) => call.startsWith('create'))).toEqual(['create 1.1']);
  expect(connection.closeCode).toBe(closeCodes.resync.code);
});
test('P32: an answer to a report is contact', async () => {
  const connection = await running();
  pass(80_000);
  engine.exit('c2', 0);
  await connection.reported(7, 'exited');
  connection.send({ type: 'ack', sequence: connection.reports().at(-1)?.sequence ?? 1 });
  connection.stop({ service: 7, generation: 1 });
  await connection.reported(7, 'gone');
  pass(80_000);
  machine.rig.lease.check();
  expect(services()).toEqual([1]);
});
test('P32: the lease of a welcome counts from the sending of the hello', async () => {
  const connection = await machine.begin();
  await connection.hello();
  pass(40_000);
  connection.welcome([], { leaseMs: LEASE_MS });
  const { lease } = machine.rig;
  await eventually(() => lease.leaseMs === LEASE_MS);
  pass(LEASE_MS - 40_001);
  lease.check();
  expect(lease.hasExpired).toBe(false);
  pass(1);
  lease.check();
  expect(lease.hasExpired).toBe(true);
});
test('P30, P33: the next process gives up its containers if the lease expired while no agent ran, except those that the last sync left alone', async () => {
  await machine.run(both);
  const again = await machine.restart();
  again.welcome([assignment()], { leaseMs: LEASE_MS, unknown });
  const report = await eventually(() => again.reports().find(({ conditions }) => conditions?.length));
  again.send({ type: 'ack', sequence: report?.sequence ?? 0 });
  await eventually(() => readFileSync(`${machine.folder}/data.lease.json`, 'utf8').includes('"first":7'));
  await machine.rig.close();
  pass(LEASE_MS);
  await machine.begin();
  await eventually(() => engine.containers.size === 1);
  expect(services()).toEqual([7]);
  expect(isLogged('lease.expired')).toBe(true);
  expect(machine.rig.output.isLapsed({ service: 7, generation: 1 })).toBe(false);
});
