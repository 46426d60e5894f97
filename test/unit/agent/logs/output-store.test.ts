import { expect, test } from 'vitest';
import { EngineError } from '../../../../agent/engine/engine.ts';
import { OutputStore } from '../../../../agent/logs/output-store.ts';
import { scratchDir } from '../../../support/agents/agent-rig.ts';

test('output that is copied by the log API is complete after a person removed its container', async () => {
  const scratch = await scratchDir();
  const engine = {
    outputFile: () => undefined,
    // biome-ignore lint/correctness/useYield: it has nothing to give.
    async *followOutput() {
      throw new EngineError('permanent', 'No such container: c1');
    },
  };
  const store = new OutputStore(scratch.path, engine, () => {});
  const container = { service: 1, generation: 1, id: 'c1' };
  store.markStarted(container);
  await store.preserve({ ...container, state: 'running', ipAddress: '', ports: [], startedAtMs: 1 });
  await store.finalise(container);
  expect(store.stateOf('c1')).toBe('complete');
  await scratch.remove();
});
