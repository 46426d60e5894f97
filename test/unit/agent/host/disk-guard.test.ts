/** The disk guard with a complete agent, on an engine in memory whose free space the test sets. */
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { EngineError } from '../../../../agent/engine/engine.ts';
import { DiskGuard, type DiskGuardOptions, startDiskGuard } from '../../../../agent/host/disk-guard.ts';
import { ImageRemoval } from '../../../../agent/host/image-removal.ts';
import { endForDisk } from '../../../../agent/services/output-limit.ts';
import { AgentMachine } from '../../../support/agents/agent-machine.ts';
import type { AgentRig } from '../../../support/agents/agent-rig.ts';
import type { PeerConnection } from '../../../support/agents/control-plane-peer.ts';
import type { FakeEngine } from '../../../support/engines/fake-engine.ts';
import { assignment } from '../../../support/fixtures/assignments.ts';
import { eventually } from '../../../support/tools/eventually.ts';

const MIB = 2 ** 20;
const LIMIT = 512 * MIB;

let engine: FakeEngine;
let rig: AgentRig;
let guard: DiskGuard;
let options: DiskGuardOptions;
let connection: PeerConnection;
let freeBytes: number;
let nowMs: number;
const lines: string[] = [];

beforeEach(async () => {
  lines.length = 0;
  nowMs = 0;
  freeBytes = LIMIT - 1;
  const machine = new AgentMachine();
  connection = await machine.begin();
  ({ engine, rig } = machine);
  const { agent, output } = rig;
  const log = (event: string) => lines.push(event);
  const wanted = () => agent.images();
  const images = new ImageRemoval({ engine, wanted, keepDays: 14, isLow: async () => true, log });
  options = {
    folder: '/engine',
    minBytes: LIMIT,
    probe: async () => ({ freeBytes, freeInodesShare: 1 }),
    engine,
    running: () => agent.running(),
    isThere: (id) => agent.hasContainer(id),
    removeImage: () => images.removeForDisk(),
    end: (container, reason) => endForDisk({ agent, engine, output }, container, reason, MIB),
    log,
    nowMs: () => nowMs,
  };
  guard = new DiskGuard(options);
});

/** Services 1, 2 ... with containers c1, c2 ... that hold as much. */
async function begin(...mebibytes: number[]): Promise<void> {
  await connection.run(mebibytes.map((_, index) => assignment({ service: index + 1 })));
  for (const [index, size] of mebibytes.entries()) hold(`c${index + 1}`, size);
}

const hold = (id: string, size: number) =>
  engine.diskUses.set(id, { bytes: size * MIB, outputBytes: 0, files: 1, isComplete: true });
const killed = () => engine.calls.filter((call) => call.startsWith('kill'));
/** All that were killed by the end of another look. */
const checked = async () => {
  await guard.check();
  return killed();
};

test('P145: the largest service is killed, removed and reported as failed for good, with the reason', async () => {
  await begin(100, 300, 200);
  expect(await checked()).toEqual(['kill c2']);
  expect(await connection.reported(2, 'failed')).toMatchObject({
    temporary: false,
    message:
      'ended by its host, whose disk was nearly full (512.0 MiB left): it had written 300.0 MiB, the most of all services',
  });
  await eventually(() => !rig.agent.hasContainer('c2'));
  expect(engine.calls).not.toContain('create 2.2');
  expect(rig.agent.running().map(({ id }) => id)).toEqual(['c1', 'c3']);
  expect(lines).toEqual(['service.ended-for-disk']);
});

test.each<[string, removed: number, ends: boolean, onRemoval: () => void]>([
  ['until enough is free', 2, false, () => (freeBytes += MIB / 2)],
  ['and then one does, if that is not enough', 3, true, () => {}],
  ['and then one does, if services fill the disk while images go', 1, true, () => (freeBytes *= 0.5)],
])('P184: unused images go before any service ends, %s', async (_, removed, ends, onRemoval) => {
  await begin(300);
  engine.unusedImages = ['a:1', 'b:1', 'c:1'].map((image) => ({ image, bytes: 100 * MIB, unusedMs: 1 }));
  engine.before = (call) => {
    if (call.startsWith('remove image')) onRemoval();
  };
  freeBytes = LIMIT - MIB;
  await guard.check();
  const images = Array(removed).fill('image.removed');
  expect(lines).toEqual(ends ? [...images, 'service.ended-for-disk'] : images);
  expect(killed()).toEqual(ends ? ['kill c1'] : []);
});

test('P145: with enough free space nothing is measured or ended', async () => {
  await begin(1000);
  engine.diskUse = () => Promise.reject(new Error('measured'));
  freeBytes = LIMIT;
  expect(await guard.check()).toBe(50);
  expect(lines).toEqual([]);
});

/** What changes between two looks. */
type Change = () => unknown;
const after =
  (ms: number): Change =>
  () =>
    (nowMs += ms);
const written =
  (bytes: number): Change =>
  () =>
    (freeBytes -= bytes);

test.each<[string, isRemoved: boolean, sooner: Change, last: Change]>([
  ['its space counts, or was waited for', true, after(4_999), after(1)],
  ['half a minute is over, if its container is not removed', false, after(29_999), after(1)],
  ['others fill the space that is left, without waiting', false, written((LIMIT - 1) / 4), written(1)],
])('P146: after the first service the next one ends once %s', async (_, isRemoved, sooner, last) => {
  await begin(100, 300, 200);
  if (!isRemoved) engine.refuse('remove c2', busy);
  await guard.check();
  if (isRemoved) await eventually(() => !rig.agent.hasContainer('c2'));
  if (isRemoved) await guard.check();
  sooner();
  expect(await checked()).toEqual(['kill c2']);
  last();
  expect(await checked()).toEqual(['kill c2', 'kill c3']);
});

const busy = new EngineError('temporary', 'busy');

test('P146: a service that could not be killed may be the one that writes, so no other one ends', async () => {
  await begin(300, 200);
  engine.refuse('kill c1', busy);
  await guard.check();
  freeBytes = 1;
  expect(await checked()).toEqual(['kill c1']);
});

test('P146: services that hold little stay, and are measured again after 10 s or when more is written', async () => {
  await begin(10, 63);
  await guard.check();
  hold('c1', 500);
  expect(await checked()).toEqual([]);
  expect(lines).toEqual(['disk.nothing-to-end']);
  freeBytes -= 64 * MIB;
  expect(await checked()).toEqual(['kill c1']);
});

test('P146: services that the control plane does not know are left alone, as is everything before the sync', async () => {
  await guard.check();
  expect(lines).toEqual(['disk.nothing-to-end']);
  nowMs += 10_000;
  await begin(300, 200);
  rig.agent.sync([assignment({ service: 2 })], [{ first: 1, last: 1 }]);
  expect(await checked()).toEqual(['kill c2']);
});

test('P147: a container that the engine does not measure does not keep others from being ended', async () => {
  await begin(100, 300, 200);
  const measure = engine.diskUse.bind(engine);
  engine.diskUse = (id) =>
    id === 'c2' ? Promise.reject(new EngineError('unreachable', 'timeout')) : measure(id);
  expect(await checked()).toEqual(['kill c3']);
  expect(lines).toEqual(['disk.measure-failed', 'service.ended-for-disk']);
});

test('P145: the guard looks again until it is ended, and never with a limit of 0', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  let looks = 0;
  const probe = async () => {
    looks += 1;
    return undefined;
  };
  startDiskGuard({ ...options, minBytes: 0, probe })();
  const end = startDiskGuard({ ...options, probe });
  await vi.advanceTimersByTimeAsync(2_500);
  expect(looks).toBe(3);
  end();
  await vi.advanceTimersByTimeAsync(2_500);
  expect(looks).toBe(3);
});

test('P184: an engine that is slow to remove an image does not keep a service from being ended', async () => {
  await begin(300);
  options.removeImage = () => new Promise(() => {});
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  void guard.check();
  await vi.advanceTimersByTimeAsync(2_000);
  vi.useRealTimers();
  await eventually(() => killed().length === 1);
});

test('P146: the next service ends as soon as half of what the first one held is free', async () => {
  freeBytes = 112 * MIB;
  await begin(300, 10);
  await guard.check();
  await eventually(() => !rig.agent.hasContainer('c1'));
  hold('c2', 400);
  freeBytes = 262 * MIB - 1;
  expect(await checked()).toEqual(['kill c1']);
  freeBytes += 1;
  expect(await checked()).toEqual(['kill c1', 'kill c2']);
});

test('P146: once the space was enough, a new shortage is measured, reported and ended like the first', async () => {
  await begin(10, 10);
  const shortAgain = async () => {
    freeBytes = LIMIT;
    await guard.check();
    freeBytes = LIMIT - 1;
    await guard.check();
  };
  await guard.check();
  nowMs += 10_000;
  await guard.check();
  expect(lines).toEqual(['disk.nothing-to-end']);
  await shortAgain();
  expect(lines).toEqual(['disk.nothing-to-end', 'disk.nothing-to-end']);
  for (const id of ['c1', 'c2']) hold(id, 300);
  await shortAgain();
  expect(killed()).toHaveLength(1);
  await shortAgain();
  expect(killed()).toHaveLength(2);
});
