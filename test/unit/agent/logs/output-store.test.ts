import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { EngineError } from '../../../../agent/engine/engine.ts';
import { OutputStore } from '../../../../agent/logs/output-store.ts';
import { limits, scratchDir } from '../../../support/agents/agent-rig.ts';
import { assignment } from '../../../support/fixtures/assignments.ts';

test('P316: a container that a person removed is no full disk: its log is complete without a note', async () => {
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
  expect(store.retention.isLost(container)).toBe(false);
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

test('P5, P30, P60: a sync keeps the marks of its keys and of services that are left alone, for the next process, too', async () => {
  const scratch = await scratchDir();
  const engine = { outputFile: () => undefined, followOutput: () => expect.unreachable() };
  const opened = () => new OutputStore(scratch.path, engine, () => {}, limits);
  const keys = [1, 7, 9].map((service) => ({ service, generation: 1 }));
  const store = opened();
  for (const key of keys) store.markStarted(key);
  store.retainMarks(new Set(['1.1']), (service) => service === 7);
  for (const one of [store, opened()])
    expect(keys.map((key) => one.wasStarted(key))).toEqual([true, true, false]);
  await scratch.remove();
});

test('P10: the log of an earlier database under the same key is removed before the first start, and no other', async () => {
  const scratch = await scratchDir();
  mkdirSync(`${scratch.path}/1`);
  for (const generation of [1, 2]) writeFileSync(`${scratch.path}/1/${generation}.log`, 'x');
  const engine = { outputFile: () => undefined, followOutput: () => expect.unreachable() };
  const store = new OutputStore(scratch.path, engine, () => {}, limits);
  store.markStarted({ service: 1, generation: 1 });
  expect(store.accept(assignment(), false)).toBe(true);
  expect(store.accept(assignment({ generation: 2 }), true)).toBe(false);
  expect(readdirSync(`${scratch.path}/1`)).toEqual(expect.arrayContaining(['1.log', '2.log']));
  expect(store.accept(assignment({ generation: 2 }), false)).toBe(false);
  expect(readdirSync(`${scratch.path}/1`)).not.toContain('2.log');
  expect(readdirSync(`${scratch.path}/1`)).toContain('1.log');
  await scratch.remove();
});

test('P33: the next process knows the keys that were given up, until they are unmarked', async () => {
  const scratch = await scratchDir();
  const engine = { outputFile: () => undefined, followOutput: () => expect.unreachable() };
  const opened = () => new OutputStore(scratch.path, engine, () => {}, limits);
  const key = { service: 1, generation: 1 };
  opened().markLapsed(key);
  const next = opened();
  expect(next.lapsedKeys()).toEqual([key]);
  next.unmark(key);
  expect(opened().isLapsed(key)).toBe(false);
  await scratch.remove();
});

test('P121: output that is copied from another file system when its container ends is limited and read meanwhile, too', async () => {
  const [scratch, logged] = [await scratchDir(), [] as string[]];
  const elsewhere = mkdtempSync('/dev/shm/berth-test-');
  const engine = {
    outputFile: (id: string) => `${elsewhere}/${id}`,
    followOutput: () => expect.unreachable(),
  };
  const store = new OutputStore(scratch.path, engine, (event) => logged.push(event), limits);
  for (let service = 1; service <= 20; service += 1) {
    const container = { service, generation: 1, id: `c${service}` };
    writeFileSync(`${elsewhere}/c${service}`, 'x');
    store.markStarted(container);
    await store.preserve({ ...container, state: 'running', ipAddress: '', ports: [], startedAtMs: 1 });
    let isCopied = false;
    const copied = store.finalise(container).then(() => {
      isCopied = true;
    });
    while (!isCopied) {
      const [file] = await Promise.all([store.open(container), store.limit()]);
      expect(file).toBeDefined();
      await file?.close();
    }
    await copied;
  }
  expect(logged).toEqual([]);
  await store.close();
  rmSync(elsewhere, { recursive: true });
  await scratch.remove();
});
