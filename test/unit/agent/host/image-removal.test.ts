import { beforeEach, expect, test } from 'vitest';
import { EngineError } from '../../../../agent/engine/engine.ts';
import { isDiskLow } from '../../../../agent/host/disk.ts';
import { ImageRemoval } from '../../../../agent/host/image-removal.ts';
import { FakeEngine } from '../../../support/engines/fake-engine.ts';
import { testFolder } from '../../../support/tools/test-folder.ts';

const DAY_MS = 86_400_000;
const GIB = 2 ** 30;
let engine: FakeEngine;
let wanted: string[] | undefined;
let freeBytes: number;
const lines: unknown[] = [];
beforeEach(async () => {
  engine = new FakeEngine(await testFolder());
  wanted = [];
  freeBytes = 2 * GIB;
  lines.length = 0;
});

const probe = async () => ({ freeBytes, freeInodesShare: 1 });
const removal = (keepDays = 14, minBytes = GIB) =>
  new ImageRemoval({
    engine,
    wanted: () => wanted,
    keepDays,
    isLow: isDiskLow('/engine', minBytes, probe),
    log: (event, fields) => lines.push({ event, ...fields }),
  });
const unused = (image: string, days: number) => ({ image, bytes: 1000, unusedMs: days * DAY_MS });
const removed = () => engine.calls.map((call) => call.replace('remove image ', ''));

test('P182: images that nobody has used for 14 days go, the least recently used first, and the log names them', async () => {
  engine.unusedImages = [unused('a:1', 20.5), unused('b:1', 14), unused('c:1', 13.9)];
  await removal().round();
  expect(removed()).toEqual(['a:1', 'b:1']);
  const line = { event: 'image.removed', bytes: 1000, cause: 'unused' };
  expect(lines).toEqual([
    { ...line, image: 'a:1', unusedDays: 20 },
    { ...line, image: 'b:1', unusedDays: 14 },
  ]);
  // With 0 days no image is removed, not even for the disk.
  freeBytes = 0;
  await removal(0).round();
  expect(await removal(0).removeForDisk()).toBe(false);
  expect(removed()).toHaveLength(2);
});

test('P183: no image is removed before the first sync, nor one that an assignment wants', async () => {
  engine.unusedImages = [unused('a:1', 20), unused('b:1', 20)];
  wanted = undefined;
  await removal().round();
  expect(removed()).toEqual([]);
  wanted = ['a:1'];
  await removal().round();
  expect(removed()).toEqual(['b:1']);
});

test('P184: on a low disk images go, the least recently used first, until a quarter more than the minimum is free', async () => {
  engine.unusedImages = [unused('a:1', 3), unused('b:1', 2), unused('c:1', 1)];
  freeBytes = GIB - 1;
  engine.before = () => {
    freeBytes += GIB / 8 + 1;
  };
  await removal().round();
  expect(removed()).toEqual(['a:1', 'b:1']);
  expect(lines).toContainEqual(expect.objectContaining({ image: 'a:1', cause: 'disk', unusedDays: 3 }));
  await removal().round();
  expect(removed()).toHaveLength(2);
});

test('P184: with enough space, with no minimum, or with the engine elsewhere, only the age counts', async () => {
  engine.unusedImages = [unused('a:1', 13)];
  await removal().round();
  freeBytes = 0;
  await removal(14, 0).round();
  expect(removed()).toEqual([]);
  expect(await isDiskLow(undefined, GIB, probe)()).toBe(false);
});

test('P182: a failed removal is tried again in the next round, and a repeated failure is logged once', async () => {
  engine.unusedImages = [unused('a:1', 20)];
  engine.refuse('', new EngineError('unreachable', 'no engine'));
  const rounds = removal();
  await rounds.round();
  await rounds.round();
  expect(lines).toEqual([{ event: 'image.removal-failed', reason: 'no engine' }]);
  engine.before = () => {};
  await rounds.round();
  expect(engine.unusedImages).toEqual([]);
});

test('P182: one round runs at a time', async () => {
  const answer = Promise.withResolvers<undefined>();
  let calls = 0;
  engine.removeUnusedImage = () => {
    calls += 1;
    return answer.promise;
  };
  const rounds = removal();
  const first = rounds.round();
  await rounds.round();
  answer.resolve(undefined);
  await first;
  expect(calls).toBe(1);
  await rounds.round();
  expect(calls).toBe(2);
});
