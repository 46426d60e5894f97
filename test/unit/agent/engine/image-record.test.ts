import { readFileSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { beforeEach, expect, test } from 'vitest';
import { ImageRecord, MAX_RECORDED } from '../../../../agent/engine/images/image-record.ts';
import { testFolder } from '../../../support/tools/test-folder.ts';

const HOUR_MS = 3_600_000;
let folder: string;
let nowMs: number;
const lines: string[] = [];
beforeEach(async () => {
  folder = await testFolder();
  nowMs = 1e12;
  lines.length = 0;
});

const file = () => `${folder}/local/images.json`;
const open = (engine = 'one') =>
  new ImageRecord({ file: file(), log: (event) => lines.push(event), nowMs: () => nowMs }, engine);

test('P181: the record survives the process, with an image whose pull had not ended', () => {
  const record = open();
  record.put('web:1', 'sha256:aaa');
  record.put('db:1', null);
  record.put('gone:1', 'sha256:bbb');
  record.drop(['gone:1']);
  expect(open().all()).toEqual([
    { image: 'web:1', id: 'sha256:aaa', usedMs: nowMs },
    { image: 'db:1', id: null, usedMs: nowMs },
  ]);
  // That of another engine does not count.
  expect(open('two').all()).toEqual([]);
});

test('P182: the time of use is written once an hour, and is never in the future', () => {
  open().put('web:1', 'sha256:aaa');
  const record = open();
  const use = (afterMs: number) => {
    nowMs += afterMs;
    record.used(record.all());
    return open().get('web:1')?.usedMs;
  };
  const firstMs = use(1);
  expect(use(HOUR_MS - 1)).toBe(firstMs);
  expect(use(1)).toBe(nowMs);
  nowMs -= HOUR_MS;
  expect(open().get('web:1')?.usedMs).toBe(nowMs);
});

test('P185: a damaged record counts as empty, and is logged', () => {
  open().put('web:1', 'sha256:aaa');
  for (const text of ['{"engine":"one","images":[{"image":1}]}', '', '\0\0']) {
    writeFileSync(file(), text);
    expect(open().all()).toEqual([]);
  }
  expect(lines).toEqual(['image-record.damaged', 'image-record.damaged', 'image-record.damaged']);
  open().put('web:1', 'sha256:aaa');
  expect(open().all()).toHaveLength(1);
});

test('P185: an image whose pull could not be recorded does not count as pulled by this deployment', async () => {
  await mkdir(`${file()}.new`, { recursive: true });
  const record = open();
  expect(record.put('web:1', null)).toBe(false);
  expect(record.all()).toEqual([]);
  expect(lines).toEqual(['image-record.write-failed']);
});

test('P185: a full record strikes off the image that was used least recently', () => {
  const images = Array.from({ length: MAX_RECORDED }, (_, index) => {
    return { image: `web:${index}`, id: `sha256:${index}`, usedMs: index === 7 ? 1 : 2 };
  });
  open().put('web:1', 'sha256:aaa');
  writeFileSync(file(), JSON.stringify({ engine: 'one', images }));
  const record = open();
  record.put('one:more', null);
  expect(record.all()).toHaveLength(MAX_RECORDED);
  expect(record.get('web:7')).toBeUndefined();
  expect(readFileSync(file(), 'utf8')).toContain('one:more');
});
