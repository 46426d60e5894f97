import { expect, test } from 'vitest';
import { schedulerStateOf } from '../../control-plane/core/statistics.ts';
import { application, needs, service } from '../support/applications.ts';
import { CoreRig, hostFacts } from '../support/core-rig.ts';

const GIB = 1024 ** 3;
const of = (memoryBytes: number) => application(service({ resources: needs(memoryBytes, 1) }));

test('H158: what waits, runs and ends is told once each, the queue in its order', () => {
  const rig = new CoreRig();
  const ended = rig.submit(of(1 * GIB));
  rig.terminate(ended);
  rig.hello(hostFacts('host1'));
  const running = rig.submit(of(4 * GIB));
  const ending = rig.submit(of(2 * GIB));
  const waiting = [rig.submit(of(100 * GIB)), rig.submit(of(100 * GIB))];
  rig.turn();
  rig.terminate(ending);
  expect(schedulerStateOf(rig.cluster)).toMatchObject({
    queued: waiting.map(({ id }) => id),
    running: [running.id],
    cleaningUp: [ending.id],
  });
});

test('H158: a host is told with what is reserved on it and how many containers are to run', () => {
  const rig = new CoreRig();
  const facts = hostFacts('host1', { labels: ['ssd'] });
  rig.hello(facts);
  rig.submit(of(1 * GIB));
  rig.submit(of(2 * GIB));
  rig.turn();
  expect(schedulerStateOf(rig.cluster).hosts).toEqual([
    {
      ...{ name: 'host1', connected: true, labels: ['ssd'], containers: 2 },
      ...{ memoryBytes: facts.memoryBytes, cores: facts.cores },
      ...{ reservedMemoryBytes: 3 * GIB, reservedCores: 2 },
    },
  ]);
});
