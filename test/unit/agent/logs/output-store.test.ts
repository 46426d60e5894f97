import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
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

test('a link or copy that an earlier agent process did not finish is removed, and its log stays', async () => {
  const scratch = await scratchDir();
  for (const folder of ['1', 'other']) mkdirSync(`${scratch.path}/${folder}`);
  for (const path of ['1/1.log', '1/1.log.link', '1/1.log.copy', 'other/x.copy'])
    writeFileSync(`${scratch.path}/${path}`, 'x');
  const engine = { outputFile: () => undefined, followOutput: () => expect.unreachable() };
  new OutputStore(scratch.path, engine, () => {}, limits);
  expect(readdirSync(`${scratch.path}/1`)).toEqual(['1.log']);
  expect(readdirSync(`${scratch.path}/other`)).toEqual(['x.copy']);
  await scratch.remove();
});
