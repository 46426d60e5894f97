import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { Lease, type Moment } from '../../../../agent/services/lease.ts';
import type { IdRange } from '../../../../shared/protocol/assignment.ts';
import { type AgentRig, agentRig, scratchDir } from '../../../support/agents/agent-rig.ts';
import { FakeEngine } from '../../../support/engines/fake-engine.ts';
import { assignment } from '../../../support/fixtures/assignments.ts';
import { eventually } from '../../../support/tools/eventually.ts';

const LEASE_MS = 90_000;
const HOUR_MS = 3_600_000;
const unknown = [{ first: 7, last: 7 }];

let scratch: Awaited<ReturnType<typeof scratchDir>>;
let at: Moment;
let expired: (readonly IdRange[])[];

const pass = (ms: number, wallMs = ms) => {
  at = { uptimeMs: at.uptimeMs + ms, wallMs: at.wallMs + wallMs };
};
const checked = (lease: Lease): number => {
  lease.check();
  return expired.length;
};

beforeEach(async () => {
  scratch = await scratchDir();
  at = { uptimeMs: 1_000_000, wallMs: 5_000_000 };
  expired = [];
});
afterEach(() => scratch.remove());

function granted(): Lease {
  const lease = new Lease({
    file: `${scratch.path}/lease.json`,
    now: () => at,
    log: () => {},
    onExpired: (ranges) => expired.push(ranges),
  });
  lease.replace(LEASE_MS, lease.now());
  return lease;
}

async function rigOn(engine: FakeEngine): Promise<AgentRig> {
  const rig = await agentRig(engine, { dataDir: `${scratch.path}/data`, now: () => at });
  onTestFinished(rig.close);
  return rig;
}

test('P32: the late answer to an earlier message does not shorten the lease', () => {
  const lease = granted();
  const earlier = lease.now();
  pass(10_000);
  lease.confirm(lease.now());
  lease.confirm(earlier);
  pass(LEASE_MS - 1);
  expect(checked(lease)).toBe(0);
});

test('P32: the doubt about a wall clock begins anew after the clock was right meanwhile', () => {
  const lease = granted();
  pass(0, HOUR_MS);
  expect(checked(lease)).toBe(0);
  pass(16_000, 16_000 - HOUR_MS);
  expect(checked(lease)).toBe(0);
  pass(0, HOUR_MS);
  expect(checked(lease)).toBe(0);
  pass(15_000);
  expect(checked(lease)).toBe(1);
});

test('P30, P32: an expiry names the services that the last sync left alone, even after another welcome', () => {
  const lease = granted();
  lease.setUnknown(unknown);
  lease.replace(LEASE_MS, lease.now());
  pass(LEASE_MS);
  expect(checked(lease)).toBe(1);
  expect(expired).toEqual([unknown]);
});

test('P32: the lease of a welcome counts from the sending of the hello', async () => {
  const rig = await rigOn(new FakeEngine(`${scratch.path}/engine`));
  const connection = await rig.peer.connection();
  await connection.hello();
  pass(40_000);
  connection.welcome([], { leaseMs: LEASE_MS });
  await eventually(() => rig.lease.leaseMs === LEASE_MS);
  pass(LEASE_MS - 40_001);
  rig.lease.check();
  expect(rig.lease.hasExpired).toBe(false);
  pass(1);
  rig.lease.check();
  expect(rig.lease.hasExpired).toBe(true);
});

test('P30, P33: the next process leaves the services alone that the last sync left alone', async () => {
  const engine = new FakeEngine(`${scratch.path}/engine`);
  const first = await rigOn(engine);
  const connection = await first.peer.connection();
  connection.welcome([assignment(), assignment({ service: 7 })]);
  for (const service of [1, 7]) await connection.reported(service, 'running');
  await first.close();
  const second = await rigOn(engine);
  const again = await second.peer.connection();
  again.welcome([assignment()], { leaseMs: LEASE_MS, unknown });
  const report = await eventually(() => again.reports().find(({ conditions }) => conditions?.length));
  again.send({ type: 'ack', sequence: report?.sequence ?? 0 });
  await eventually(() => readFileSync(`${scratch.path}/data.lease.json`, 'utf8').includes('"first":7'));
  await second.close();
  pass(LEASE_MS);
  await rigOn(engine);
  await eventually(() => engine.containers.size === 1);
  expect([...engine.containers.values()][0]?.service).toBe(7);
});
