/** Which services a host ends when its disk is nearly full, and when. */
import { expect, test } from 'vitest';
import type { DiskUse } from '../../../../agent/engine/engine.ts';
import {
  endText,
  MIN_BYTES,
  nextCheckMs,
  offendersOf,
  type Shortage,
  shortageOf,
  UNCOUNTABLE_FILES,
} from '../../../../agent/host/disk-offenders.ts';

const MIB = 2 ** 20;
const GIB = 2 ** 30;
const LIMIT = 512 * MIB;

const space = (freeBytes: number, freeInodesShare: number | null = 1) => ({ freeBytes, freeInodesShare });
const holder = (name: string, bytes: number, changes: Partial<DiskUse> = {}) => ({
  name,
  use: { bytes, outputBytes: 0, files: 10, isComplete: true, ...changes },
});
const short = (wantedBytes: number): Shortage => ({ of: 'space', freeBytes: LIMIT - 1, wantedBytes });
const namesOf = (holders: ReturnType<typeof holder>[], shortage: Shortage) =>
  offendersOf(holders, shortage).map(({ name }) => name);

test('P145: too little space or too few inodes are a shortage, and the less is free, the sooner the agent looks again', () => {
  expect(shortageOf(space(LIMIT), LIMIT)).toBeUndefined();
  const shortage = { of: 'space', freeBytes: LIMIT - 4, wantedBytes: LIMIT / 4 + 4 };
  expect(shortageOf(space(LIMIT - 4), LIMIT)).toEqual(shortage);
  expect(shortageOf(space(GIB, 0.004), LIMIT)).toEqual({ of: 'files', free: 0.004 });
  expect(shortageOf(space(GIB, null), LIMIT)).toBeUndefined();
  expect(nextCheckMs(space(100 * GIB), LIMIT)).toBe(1000);
  expect(nextCheckMs(space(LIMIT + GIB), LIMIT)).toBe(500);
  expect(nextCheckMs(space(LIMIT + MIB), LIMIT)).toBe(50);
  expect(nextCheckMs(space(0), LIMIT)).toBe(50);
});

test('P146: the services that hold most are ended, no more than suffice, and never one that holds little', () => {
  const holders = [holder('small', 100 * MIB), holder('large', 900 * MIB), holder('other', 800 * MIB)];
  expect(namesOf(holders, short(900 * MIB))).toEqual(['large']);
  expect(namesOf(holders, short(901 * MIB))).toEqual(['large', 'other']);
  expect(namesOf(holders, short(9 * GIB))).toEqual(['large', 'other', 'small']);
  expect(namesOf([holder('a', MIN_BYTES - 1), holder('b', 0)], short(GIB))).toEqual([]);
  expect(namesOf([holder('a', MIN_BYTES)], short(GIB))).toEqual(['a']);
  expect(namesOf([holder('a', 0, { files: 9999 })], { of: 'files', free: 0 })).toEqual([]);
});

test('P146: output counts, except for the part that is kept', () => {
  const noisy = holder('noisy', 0, { outputBytes: 600 * MIB });
  expect(namesOf([holder('writer', 590 * MIB), noisy], short(1))).toEqual(['writer']);
  expect(namesOf([holder('writer', 580 * MIB), noisy], short(1))).toEqual(['noisy']);
});

test('P146: too many files to count are the most', () => {
  const crowd = holder('crowd', 0, { files: UNCOUNTABLE_FILES, isComplete: false });
  const slow = holder('slow', 10 * MIB, { files: UNCOUNTABLE_FILES - 1, isComplete: false });
  const large = holder('large', GIB);
  expect(namesOf([large, crowd], short(GIB))).toEqual(['crowd']);
  expect(namesOf([large, slow], short(1))).toEqual(['large']);
  expect(namesOf([large, slow], { of: 'files', free: 0.001 })).toEqual(['slow']);
});

test('P145: the reason names the cause and the sizes', () => {
  expect(endText(short(1), holder('', MIB, { files: 200_000, isComplete: false }).use, false)).toContain(
    'it had written more than 1.0 MiB in more than 200000 files, among the most of all services',
  );
  expect(endText({ of: 'files', free: 0.004 }, holder('', MIB, { files: 50_000 }).use, true)).toBe(
    'ended by its host, whose disk had no room for more files (0.4 % left): it had 50000 files, the most of all services',
  );
});
