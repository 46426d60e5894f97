import { mkdir } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { decommission } from '../../../../agent/services/decommission.ts';
import { Lease, type Moment } from '../../../../agent/services/lease.ts';
import { closeCodes } from '../../../../shared/protocol/close.ts';
import { PROTOCOL_VERSION } from '../../../../shared/protocol/version.ts';
import { type AgentRig, agentRig, scratchDir } from '../../../support/agents/agent-rig.ts';
import type { PeerConnection } from '../../../support/agents/control-plane-peer.ts';
import { FakeEngine } from '../../../support/engines/fake-engine.ts';
import { assignment } from '../../../support/fixtures/assignments.ts';
import { eventually } from '../../../support/tools/eventually.ts';

const LEASE_MS = 90_000;

let scratch: Awaited<ReturnType<typeof scratchDir>>;
let at: Moment;

const pass = (ms: number) => {
  at = { uptimeMs: at.uptimeMs + ms, wallMs: at.wallMs + ms };
};

beforeEach(async () => {
  scratch = await scratchDir();
  at = { uptimeMs: 1_000_000, wallMs: 5_000_000 };
});
afterEach(() => scratch.remove());

describe('P32: the lease', () => {
  let lapses: number;
  let unwritten: string[];
  const open = () =>
    new Lease({
      file: `${scratch.path}/lease.json`,
      now: () => at,
      log: (event, fields) => unwritten.push(JSON.stringify({ event, ...fields })),
      onExpired: () => {
        lapses += 1;
      },
    });
  const lapsesAfter = (lease: Lease, ms: number) => {
    pass(ms);
    lease.check();
    return lapses;
  };
  beforeEach(() => {
    lapses = 0;
    unwritten = [];
  });

  test('P32: the lease expires once, counted from the sending of the message that was answered', () => {
    const lease = open();
    lease.replace(LEASE_MS, lease.now());
    const sent = lease.now();
    pass(40_000);
    lease.confirm(sent);
    expect(lapsesAfter(lease, LEASE_MS - 40_001)).toBe(0);
    expect(lapsesAfter(lease, 1)).toBe(1);
    expect(lapsesAfter(lease, 1_000_000)).toBe(1);
  });
  test('P32: each answer renews the lease, even after its expiry', () => {
    const lease = open();
    lease.replace(LEASE_MS, lease.now());
    pass(LEASE_MS - 1);
    lease.confirm(lease.now());
    expect(lapsesAfter(lease, LEASE_MS - 1)).toBe(0);
    expect(lapsesAfter(lease, 1)).toBe(1);
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
    const lease = open();
    lease.replace(LEASE_MS, lease.now());
    at = { ...at, wallMs: at.wallMs + 3_600_000 };
    expect(lapsesAfter(lease, 1_000)).toBe(0);
    lease.confirm(lease.now());
    expect(lapsesAfter(lease, 20_000)).toBe(0);
    at = { ...at, wallMs: at.wallMs + 3_600_000 };
    expect(lapsesAfter(lease, 1_000)).toBe(0);
    expect(lapsesAfter(lease, 15_000)).toBe(1);
  });
  test('P32: the next process continues the lease from the last answer on the disk', () => {
    const lease = open();
    lease.replace(LEASE_MS, lease.now());
    pass(10_000);
    lease.confirm(lease.now());
    const next = open();
    expect(next.leaseMs).toBe(LEASE_MS);
    expect(lapsesAfter(next, LEASE_MS - 1)).toBe(0);
    expect(lapsesAfter(next, 1)).toBe(1);
  });
  test('P32: the lease of this process is in force even if the disk refuses the file', async () => {
    await mkdir(`${scratch.path}/lease.json.new`);
    const lease = open();
    lease.replace(LEASE_MS, lease.now());
    pass(10_000);
    lease.confirm(lease.now());
    expect(lapsesAfter(lease, LEASE_MS - 1)).toBe(0);
    expect(lapsesAfter(lease, 1)).toBe(1);
    expect(unwritten).toHaveLength(2);
    expect(unwritten[0]).toContain('EISDIR');
  });
});

describe('P33: an agent whose lease has expired', () => {
  let engine: FakeEngine;
  let rig: AgentRig;
  const begin = async (): Promise<PeerConnection> => {
    rig = await agentRig(engine, { dataDir: `${scratch.path}/data`, now: () => at });
    return rig.peer.connection();
  };
  const running = async (leaseMs?: number) => {
    const connection = await begin();
    connection.welcome([assignment(), assignment({ service: 7 })], leaseMs === undefined ? {} : { leaseMs });
    for (const service of [1, 7]) await connection.reported(service, 'running');
    return connection;
  };
  const lapse = async (connection: PeerConnection): Promise<PeerConnection> => {
    pass(LEASE_MS);
    rig.lease.check();
    await eventually(() => engine.containers.size === 0);
    connection.terminate();
    return rig.peer.connection(2);
  };
  beforeEach(() => {
    engine = new FakeEngine(`${scratch.path}/engine`);
  });
  afterEach(() => rig.close());

  test('P33: the agent stops and removes its containers, preserves the output, and reports it in its hello', async () => {
    const again = await lapse(await running(LEASE_MS));
    const { inventory, leaseMs } = await again.hello();
    expect(inventory).toEqual(
      [1, 7].map((service) => ({ service, generation: 1, state: 'gone', lapsed: true })),
    );
    expect(leaseMs).toBe(LEASE_MS);
    expect(
      await rig.output.open({ service: 1, generation: 1 }).then((file) => file?.close()),
    ).toBeUndefined();
  });
  test('P33: the agent starts none of these keys again, whatever a sync requests', async () => {
    const again = await lapse(await running(LEASE_MS));
    again.welcome([assignment(), assignment({ service: 7, generation: 2 })], { leaseMs: LEASE_MS });
    expect(await again.reported(1, 'gone')).toMatchObject({ lapsed: true });
    await again.reported(7, 'running');
    expect(engine.calls.filter((call) => call.startsWith('create'))).toEqual([
      'create 1.1',
      'create 7.1',
      'create 7.2',
    ]);
  });
  test('P60: nothing is left of a key that was given up once its gone is acknowledged', async () => {
    const again = await lapse(await running(LEASE_MS));
    // The container still existed at the hello, so the sync may name it.
    again.welcome([assignment()], { leaseMs: LEASE_MS });
    await again.reported(1, 'gone');
    expect(rig.output.lapsedKeys()).toContainEqual({ service: 1, generation: 1 });
    again.send({ type: 'ack', sequence: again.reports().at(-1)?.sequence ?? 0 });
    await eventually(() => !rig.output.isLapsed(assignment()));
    expect(rig.output.wasStarted(assignment())).toBe(false);
  });
  test('P5, P60: a key that has a container keeps its mark, even if its gone was acknowledged', async () => {
    await running(LEASE_MS);
    rig.agent.conclude(assignment());
    expect(rig.output.wasStarted(assignment())).toBe(true);
  });
  test('P33: the agent stops its containers before it connects if the lease expired while no agent ran', async () => {
    await running(LEASE_MS);
    await rig.close();
    pass(LEASE_MS);
    const next = await begin();
    await next.hello();
    await eventually(() => engine.containers.size === 0);
    expect(rig.log.some((line) => line.includes('lease.expired'))).toBe(true);
  });
  test('P33: a container that ends while a new process of the agent waits for its first sync is not given up', async () => {
    await running(LEASE_MS);
    await rig.close();
    const next = await begin();
    await next.hello();
    const first = [...engine.containers.values()].find(({ service }) => service === 1);
    engine.exit(first?.id ?? '', 3);
    await eventually(() => rig.agent.inventory().some(({ state }) => state === 'exited'));
    pass(LEASE_MS);
    rig.lease.check();
    next.terminate();
    const { inventory } = await (await rig.peer.connection(2)).hello();
    expect(inventory.find(({ service }) => service === 1)).toMatchObject({ state: 'exited', exitCode: 3 });
  });
  test('P33: the agent stops everything even if the disk refuses the marks', async () => {
    const connection = await running(LEASE_MS);
    await mkdir(`${scratch.path}/data/1/1.lapsed`);
    const again = await lapse(connection);
    const { inventory } = await again.hello();
    expect(inventory.map(({ state }) => state)).toEqual(['gone', 'gone']);
    expect(rig.log.some((line) => line.includes('lapsed-mark.write-failed'))).toBe(true);
  });
  test('P33: the agent of a removed host ends even if its lease expires meanwhile', async () => {
    await running(LEASE_MS);
    let stop = () => {};
    const stopped = new Promise<void>((resolve) => {
      stop = resolve;
    });
    engine.before = (call) => (call.startsWith('stop') ? stopped : undefined);
    const left = decommission(rig.agent, () => {}, new AbortController().signal);
    pass(LEASE_MS);
    rig.lease.check();
    stop();
    expect(await left).toBe(true);
    expect(engine.containers.size).toBe(0);
  });
  test('P80: a start that was sent before the expiry starts nothing, and ends the connection', async () => {
    const connection = await running(LEASE_MS);
    pass(LEASE_MS);
    connection.start(assignment({ service: 8 }));
    const again = await rig.peer.connection(2);
    await again.hello();
    expect(connection.closeCode).toBe(closeCodes.resync.code);
    await eventually(() => engine.containers.size === 0);
    expect(engine.calls).not.toContain('create 8.1');
  });
  test('P80: a sync that arrives after the expiry starts nothing, even if its welcome arrived in time', async () => {
    const connection = await begin();
    const welcome = { type: 'welcome', version: PROTOCOL_VERSION, session: 's' } as const;
    connection.send({ ...welcome, reportPeriodMs: 60_000, timeMs: 0, leaseMs: LEASE_MS });
    await eventually(() => rig.lease.leaseMs === LEASE_MS);
    pass(LEASE_MS);
    connection.send({ type: 'sync', revision: 1, assignments: [assignment()], more: false });
    const again = await rig.peer.connection(2);
    expect((await again.hello()).inventory).toEqual([]);
    again.welcome([assignment()], { leaseMs: LEASE_MS });
    await again.reported(1, 'running');
    expect(engine.calls.filter((call) => call.startsWith('create'))).toEqual(['create 1.1']);
    expect(connection.closeCode).toBe(closeCodes.resync.code);
  });
  test('P32: an answer to a report is contact', async () => {
    const connection = await running(LEASE_MS);
    pass(80_000);
    engine.exit('c2', 0);
    await connection.reported(7, 'exited');
    const { sequence } = connection.reports().at(-1) ?? { sequence: 1 };
    connection.send({ type: 'ack', sequence });
    connection.stop({ service: 7, generation: 1 });
    await connection.reported(7, 'gone');
    pass(80_000);
    rig.lease.check();
    expect([...engine.containers.values()].map(({ service }) => service)).toEqual([1]);
  });
});
