import { expect, test } from 'vitest';
import { type Engine, EngineError } from '../../../../agent/engine/engine.ts';
import { OutputStore } from '../../../../agent/logs/output-store.ts';
import { execute } from '../../../../agent/services/steps.ts';
import { limits, scratchDir } from '../../../support/agents/agent-rig.ts';
import { FakeEngine } from '../../../support/engines/fake-engine.ts';
import { assignment, noCredentials, noFiles, noSecrets } from '../../../support/fixtures/assignments.ts';

test('P5: a container whose start another agent process has begun is not started', async () => {
  const scratch = await scratchDir();
  const engine = new FakeEngine(`${scratch.path}/engine`);
  const [output, another] = [1, 2].map(
    () => new OutputStore(`${scratch.path}/logs`, engine, () => {}, limits),
  );
  if (!output || !another) throw new Error('there are two stores');
  const wanted = assignment();
  const container = await engine.create(wanted, 1);
  another.markStarted(wanted);
  const context = {
    ...{ engine, output, cpuLimit: () => 1, progress: () => {}, lowDisk: () => undefined },
    ...{ fetchSecrets: noSecrets, fetchCredentials: noCredentials, secretFiles: noFiles },
    signal: new AbortController().signal,
  };
  const started = execute({ kind: 'start', assignment: wanted, container }, context);
  await expect(started).rejects.toThrow(EngineError);
  await expect(started).rejects.toThrow('another agent on this host has begun to start the service');
  expect(engine.calls).toEqual(['create 1.1']);
  await scratch.remove();
});

test('P309: an agent that is killed while the engine replaces a container leaves no start that counts as begun', async () => {
  const scratch = await scratchDir();
  const engine = new FakeEngine(`${scratch.path}/engine`);
  const store = () => new OutputStore(`${scratch.path}/logs`, engine, () => {}, limits);
  const output = store();
  const wanted = assignment();
  const container = await engine.create(wanted, 1);
  /** What the next agent finds if this one is killed at each of these moments. */
  const found: boolean[] = [];
  engine.start = async (...parameters: Parameters<Engine['start']>) => {
    const mark = parameters[4];
    found.push(store().wasStarted(wanted));
    mark?.clear();
    found.push(store().wasStarted(wanted));
    mark?.set();
    found.push(store().wasStarted(wanted));
    return container;
  };
  const context = {
    ...{ engine, output, cpuLimit: () => 1, progress: () => {}, lowDisk: () => undefined },
    ...{ fetchSecrets: noSecrets, fetchCredentials: noCredentials, secretFiles: noFiles },
    signal: new AbortController().signal,
  };
  await execute({ kind: 'start', assignment: wanted, container }, context);
  expect(found).toEqual([true, false, true]);
  await scratch.remove();
});
