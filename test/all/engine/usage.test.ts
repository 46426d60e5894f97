/** The usage of containers on a real Docker engine. */
import { expect, test } from 'vitest';
import { nextReadings } from '../../../agent/host/usage.ts';
import { dockerRig } from '../../support/engines/docker-rig.ts';
import { eventually } from '../../support/tools/eventually.ts';

const { docker, engine, run } = dockerRig('usage');
const MIB = 2 ** 20;
const signal = new AbortController().signal;

test('P50: the usage of containers is the cores and the memory of each, without the page cache of files', async () => {
  const allocate = 'x=$(head -c 30000000 /dev/zero | tr "\\0" a)';
  const [busy, idle] = await Promise.all([
    run({ command: ['sh', '-c', `${allocate}; while true; do :; done`] }),
    run({ service: 2, command: ['sh', '-c', 'head -c 64000000 /dev/zero > /big; echo done; sleep 1000'] }),
  ]);
  await eventually(async () => (await docker.getContainer(idle.id).logs({ stdout: true })).includes('done'));
  const running = [busy, idle].map(({ id }) => ({ id, startedAtMs: 0 }));
  const sampled = () => engine().usage([busy.id, idle.id], signal);
  const hasAllocated = async () => ((await sampled()).get(busy.id)?.memoryBytes ?? 0) > 25 * MIB;
  await eventually(hasAllocated);
  const first = await sampled();
  const cpuMs = first.get(busy.id)?.cpuMs ?? 0;
  await eventually(async () => ((await sampled()).get(busy.id)?.cpuMs ?? 0) > cpuMs + 500);
  const readings = nextReadings(running, nextReadings(running, new Map(), first), await sampled());
  const { [busy.id]: ofBusy, [idle.id]: ofIdle } = Object.fromEntries(readings);
  expect(ofBusy?.cores).toBeGreaterThan(0.1);
  expect(ofBusy?.cores).toBeLessThan(1.3);
  expect(ofBusy?.memoryBytes).toBeLessThan(256 * MIB);
  expect(ofIdle?.cores).toBeLessThan(0.1);
  expect(ofIdle?.memoryBytes).toBeLessThan(32 * MIB);
});
