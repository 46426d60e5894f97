import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { beforeEach, expect, test } from 'vitest';
import { type Engine, EngineError } from '../../../../agent/engine/engine.ts';
import { OutputStore } from '../../../../agent/logs/output-store.ts';
import { limits } from '../../../support/agents/agent-rig.ts';
import { assignment } from '../../../support/fixtures/assignments.ts';
import { testFolder } from '../../../support/tools/test-folder.ts';

let folder: string;
let logged: string[];
beforeEach(async () => {
  folder = await testFolder();
  logged = [];
});

const key = { service: 1, generation: 1 };
const running = { state: 'running' as const, ipAddress: '', ports: [], startedAtMs: 1 };
/** The store of another agent process. */
const opened = (engine: Partial<Pick<Engine, 'outputFile' | 'followOutput'>> = {}) =>
  new OutputStore(
    folder,
    { outputFile: () => undefined, followOutput: () => expect.unreachable(), ...engine },
    (event) => logged.push(event),
    limits,
  );

test('P316: a container that a person removed is no full disk: its log is complete without a note', async () => {
  const store = opened({
    // biome-ignore lint/correctness/useYield: it has nothing to give.
    async *followOutput() {
      throw new EngineError('permanent', 'No such container: c1');
    },
  });
  const container = { ...key, id: 'c1' };
  store.markStarted(container);
  await store.preserve({ ...container, ...running });
  await store.finalise(container);
  expect(store.stateOf('c1')).toBe('complete');
  expect(store.retention.isLost(container)).toBe(false);
});

test('P5: an agent process does not mark a key that another process has marked since it began', () => {
  const [first, second] = [opened(), opened()];
  expect([first.markStarted(key), first.markStarted(key)]).toEqual([true, true]);
  expect(second.markStarted(key)).toBe(false);
});

test('a link or copy that an earlier agent process did not finish is removed, and its log stays', () => {
  for (const one of ['1', 'other']) mkdirSync(`${folder}/${one}`);
  for (const path of ['1/1.log', '1/1.log.link', '1/1.log.copy', 'other/x.copy'])
    writeFileSync(`${folder}/${path}`, 'x');
  opened();
  expect(readdirSync(`${folder}/1`)).toEqual(['1.log']);
  expect(readdirSync(`${folder}/other`)).toEqual(['x.copy']);
});

test('P5, P30, P60: a sync keeps the marks of its keys and of services that are left alone, for the next process, too', () => {
  const keys = [1, 7, 9].map((service) => ({ service, generation: 1 }));
  const store = opened();
  for (const one of keys) store.markStarted(one);
  store.retainMarks(new Set(['1.1']), (service) => service === 7);
  for (const one of [store, opened()])
    expect(keys.map((of) => one.wasStarted(of))).toEqual([true, true, false]);
});

test('P10: the log of an earlier database under the same key is removed before the first start, and no other', () => {
  mkdirSync(`${folder}/1`);
  for (const generation of [1, 2]) writeFileSync(`${folder}/1/${generation}.log`, 'x');
  const store = opened();
  store.markStarted(key);
  const logs = () => readdirSync(`${folder}/1`).filter((name) => name.endsWith('.log'));
  expect(store.accept(assignment(), false)).toBe(true);
  expect(store.accept(assignment({ generation: 2 }), true)).toBe(false);
  expect(logs()).toEqual(['1.log', '2.log']);
  expect(store.accept(assignment({ generation: 2 }), false)).toBe(false);
  expect(logs()).toEqual(['1.log']);
});

test('P33: the next process knows the keys that were given up, until they are unmarked', () => {
  opened().markLapsed(key);
  const next = opened();
  expect(next.lapsedKeys()).toEqual([key]);
  next.unmark(key);
  expect(opened().isLapsed(key)).toBe(false);
});

test('P121: output that is copied from another file system when its container ends is limited and read meanwhile, too', async () => {
  const elsewhere = mkdtempSync('/dev/shm/berth-test-');
  const store = opened({ outputFile: (id) => `${elsewhere}/${id}` });
  for (let service = 1; service <= 20; service += 1) {
    const container = { service, generation: 1, id: `c${service}` };
    writeFileSync(`${elsewhere}/c${service}`, 'x');
    store.markStarted(container);
    await store.preserve({ ...container, ...running });
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
});
