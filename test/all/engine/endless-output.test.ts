/** A container that writes without end, on an engine whose files are on a small file system of their own. */
import { execFile } from 'node:child_process';
import { mkdir, statfs } from 'node:fs/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { DockerEngine } from '../../../agent/engine/docker/docker-engine.ts';
import type { Container } from '../../../agent/engine/engine.ts';
import { connectEngine } from '../../../agent/engine/engine-address.ts';
import { punchHole } from '../../../agent/host/punch-hole.ts';
import { OutputStore } from '../../../agent/logs/output-store.ts';
import { startOutputLimit } from '../../../agent/services/output-limit.ts';
import { NamespacedEngine } from '../../support/cluster/engine.ts';
import { cgroupOf, folderOf, newName, removeAll, removeLeftovers } from '../../support/cluster/leftovers.ts';
import { Namespace } from '../../support/cluster/namespace.ts';
import { CPU_LIMIT, engineOptions } from '../../support/engines/docker-rig.ts';
import { assignment } from '../../support/fixtures/assignments.ts';
import { eventually } from '../../support/tools/eventually.ts';

const run = promisify(execFile);
const GIB = 2 ** 30;
const DISK_BYTES = 2 * GIB;
const LIMIT_BYTES = 2 ** 27;
const EVERY_MS = 200;
/** More than the file system holds. */
const WRITTEN_BYTES = 2.5 * GIB;
const LONG_MS = 600_000;

let name: string;
let namespace: Namespace;
let engine: DockerEngine;
let store: OutputStore;
let endLimit = () => {};
const lines: string[] = [];

beforeAll(async () => {
  await removeLeftovers();
  name = await newName();
  // Mounted before the namespace is made: the engine inside and the agent outside see the same files.
  await run('mount', ['-t', 'tmpfs', '-o', `size=${DISK_BYTES}`, 'tmpfs', folderOf(name)]);
  namespace = await Namespace.make();
  const dockerd = new NamespacedEngine(namespace, folderOf(name), cgroupOf(name));
  await dockerd.start();
  await dockerd.loadImage();
  engine = new DockerEngine(dockerd.docker, connectEngine(dockerd.dockerHost), {
    deployment: 'endless',
    ...engineOptions,
    logMaxBytes: LIMIT_BYTES,
  });
  await engine.facts();
  const data = `${folderOf(name)}/agent`;
  await mkdir(data);
  const log = (event: string, fields = {}) => lines.push(JSON.stringify({ event, ...fields }));
  store = new OutputStore(data, engine, log, { maxBytes: LIMIT_BYTES, punchHole });
  endLimit = startOutputLimit(store, EVERY_MS);
}, LONG_MS);

afterAll(async () => {
  endLimit();
  await store?.close();
  await namespace?.end();
  await run('umount', ['-l', folderOf(name)]);
  await removeAll(name);
}, LONG_MS);

async function start(service: number, script: string): Promise<Container> {
  const wanted = assignment({ service, name: `web${service}-endless`, command: ['sh', '-c', script] });
  const container = await engine.start(wanted, (await engine.create(wanted, CPU_LIMIT)).id, CPU_LIMIT, true);
  await store.preserve(container);
  return container;
}

async function sizeOf(service: number): Promise<{ size: number; usedBytes: number }> {
  const file = await store.open({ service, generation: 1 });
  const { size = 0, blocks = 0 } = (await file?.stat()) ?? {};
  await file?.close();
  return { size, usedBytes: blocks * 512 };
}

test('P121: a container that writes more output than the disk holds fills it neither for itself nor for its neighbour', {
  timeout: LONG_MS,
}, async () => {
  const neighbour = await start(2, 'while :; do echo here; sleep 0.1; done');
  const writer = await start(1, `yes ${'x'.repeat(8000)}`);
  let leastFree = DISK_BYTES;
  await eventually(async () => {
    const { bavail, bsize } = await statfs(folderOf(name));
    leastFree = Math.min(leastFree, bavail * bsize);
    return (await sizeOf(1)).size > WRITTEN_BYTES;
  }, LONG_MS);
  expect(leastFree).toBeGreaterThan(DISK_BYTES / 4);
  expect(store.retention.firstOffset({ service: 1, generation: 1 })).toBeGreaterThan(
    WRITTEN_BYTES - DISK_BYTES / 2,
  );
  expect((await engine.inspect(writer.id))?.state).toBe('running');
  expect((await engine.inspect(neighbour.id))?.state).toBe('running');
  const { size } = await sizeOf(2);
  await eventually(async () => (await sizeOf(2)).size > size);
  expect(store.retention.firstOffset({ service: 2, generation: 1 })).toBe(0);
  expect(lines).toEqual([]);
});
