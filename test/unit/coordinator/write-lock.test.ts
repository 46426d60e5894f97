import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import Database from 'libsql';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { CoordinatorRig, codeOf, seen } from '../../support/rigs/coordinator-rig.ts';
import { gone } from '../../support/rigs/core-rig.ts';
import { eventually } from '../../support/tools/eventually.ts';

let folder: string;
let rig: CoordinatorRig;
let other: Database.Database;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'berth-lock-'));
  const path = join(folder, 'berth.db');
  rig = await CoordinatorRig.open({}, undefined, pathToFileURL(path).href);
  other = new Database(path);
});

afterEach(async () => {
  other.close();
  await rm(folder, { recursive: true, force: true });
});

/** Lets the coordinator wait for that long, in its own steps. */
async function wait(ms: number): Promise<void> {
  for (let passedMs = 0; passedMs < ms; passedMs += 20) {
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
    rig.clock.pass(20);
  }
  await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
}

test('H810: while another process holds the write lock, changes are refused after a second, and have changed nothing', async () => {
  await rig.submit();
  other.exec('BEGIN IMMEDIATE');
  const codes: (string | undefined)[] = [];
  void codeOf(rig.submit(undefined, 'a')).then((code) => codes.push(code));
  void codeOf(rig.coordinator.terminate(1)).then((code) => codes.push(code));
  void codeOf(rig.coordinator.changeHost(1, { schedulable: false })).then((code) => codes.push(code));
  await wait(980);
  expect(codes).toEqual([]);
  await wait(40);
  expect(codes).toEqual(['unavailable', 'unavailable', 'unavailable']);
  void codeOf(rig.submit(undefined, 'b')).then((code) => codes.push(code));
  await wait(40);
  expect(codes).toHaveLength(4);
  other.exec('COMMIT');
  const last = rig.submit(undefined, 'c');
  await wait(40);
  await last;
  expect(await rig.memory.query('SELECT name, status FROM executions ORDER BY id')).toEqual([
    { name: 'run', status: 'queued' },
    { name: 'c', status: 'queued' },
  ]);
  expect(await rig.memory.query('SELECT schedulable FROM hosts')).toEqual([{ schedulable: 1 }]);
});

test('H810: queries are answered meanwhile, agents stay connected, and what they report counts once the lock is free', async () => {
  const { agent, id, start: assignment } = await rig.runs();
  other.exec('BEGIN IMMEDIATE');
  agent.report([seen(assignment, gone)]);
  const acks = agent.socket.all('ack').length;
  await wait(300_000);
  const hosts = rig.coordinator.hosts();
  const explained = rig.coordinator.explain(id);
  await wait(40);
  expect(await hosts).toMatchObject([{ connected: true, lost: false }]);
  expect(await explained).not.toBeNull();
  expect([agent.socket.closeCode, agent.socket.all('ack').length]).toEqual([undefined, acks]);
  other.exec('COMMIT');
  await wait(40);
  await eventually(() => agent.socket.all('ack').length > acks);
  expect(await rig.memory.query('SELECT lost FROM hosts')).toEqual([{ lost: 0 }]);
  expect(rig.logged.filter((line) => line.startsWith('coordinator.lost'))).toEqual([]);
});

test('H810: a commit waits for a process that took the lock since its turn began', async () => {
  await rig.submit();
  rig.db.before = () => {
    rig.db.before = () => {};
    other.exec('BEGIN IMMEDIATE');
    setImmediate(() => other.exec('COMMIT'));
  };
  await rig.submit(undefined, 'a');
  expect(await rig.statusOf(2)).toBe('queued');
  expect(rig.logged.filter((line) => line.startsWith('coordinator.lost'))).toEqual([]);
});
