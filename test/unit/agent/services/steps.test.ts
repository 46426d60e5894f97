import { expect, test } from 'vitest';
import { type Engine, EngineError } from '../../../../agent/engine/engine.ts';
import { OutputStore } from '../../../../agent/logs/output-store.ts';
import { execute } from '../../../../agent/services/steps.ts';
import { limits } from '../../../support/agents/agent-rig.ts';
import { FakeEngine } from '../../../support/engines/fake-engine.ts';
import { assignment, noCredentials, noFiles, noSecrets } from '../../../support/fixtures/assignments.ts';
import { testFolder } from '../../../support/tools/test-folder.ts';

const wanted = assignment();

/** An engine with a created container, the store of another agent process, and the start by this one. */
async function rig() {
  const folder = await testFolder();
  const engine = new FakeEngine(`${folder}/engine`);
  const store = () => new OutputStore(`${folder}/logs`, engine, () => {}, limits);
  const output = store();
  const container = await engine.create(wanted, 1);
  const context = {
    ...{ engine, output, cpuLimit: () => 1, progress: () => {}, lowDisk: () => undefined },
    ...{ fetchSecrets: noSecrets, fetchCredentials: noCredentials, secretFiles: noFiles },
    signal: new AbortController().signal,
  };
  const start = () => execute({ kind: 'start', assignment: wanted, container }, context);
  return { engine, store, container, start };
}

test('P5: a container whose start another agent process has begun is not started', async () => {
  const { engine, store, start } = await rig();
  store().markStarted(wanted);
  const started = start();
  await expect(started).rejects.toThrow(EngineError);
  await expect(started).rejects.toThrow('another agent on this host has begun to start the service');
  expect(engine.calls).toEqual(['create 1.1']);
});

test('P309: an agent that is killed while the engine replaces a container leaves no start that counts as begun', async () => {
  const { engine, store, container, start } = await rig();
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
  await start();
  expect(found).toEqual([true, false, true]);
});
