import { expect, test } from 'vitest';
import { EngineError } from '../../../../agent/engine/engine.ts';
import { OutputStore } from '../../../../agent/logs/output-store.ts';
import { limits, scratchDir } from '../../../support/agents/agent-rig.ts';

test('output that is copied by the log API is complete after a person removed its container', async () => {
  const scratch = await scratchDir();
  const engine = {
    outputFile: () => undefined,
    // biome-ignore lint/correctness/useYield: it has nothing to give.
    async *followOutput() {
      throw new EngineError('permanent', 'No such container: c1');
    },
  };
  const store = new OutputStore(scratch.path, engine, () => {}, limits);
  const container = { service: 1, generation: 1, id: 'c1' };
  store.markStarted(container);
  await store.preserve({ ...container, state: 'running', ipAddress: '', ports: [], startedAtMs: 1 });
  await store.finalise(container);
  expect(store.stateOf('c1')).toBe('complete');
  await scratch.remove();
});

test('P5: an agent process does not mark a key that another process has marked since it began', async () => {
  const scratch = await scratchDir();
  const engine = { outputFile: () => undefined, followOutput: () => expect.unreachable() };
  const key = { service: 1, generation: 1 };
  const [first, second] = [1, 2].map(() => new OutputStore(scratch.path, engine, () => {}, limits));
  expect(first?.markStarted(key)).toBe(true);
  expect(first?.markStarted(key)).toBe(true);
  expect(second?.markStarted(key)).toBe(false);
  await scratch.remove();
});
