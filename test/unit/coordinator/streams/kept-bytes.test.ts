import { expect, test } from 'vitest';
import { KeptBytes } from '../../../../control-plane/coordinator/streams/kept-bytes.ts';
import { seededRandom } from '../../../support/tools/random.ts';

const all = (kept: KeptBytes, from: number) => Buffer.concat([...kept.from(from)]);

test('H834: kept bytes are those from any position on, however they were added and dropped', () => {
  const random = seededRandom(1);
  const kept = new KeptBytes();
  let bytes = Buffer.alloc(0);
  let start = 0;
  for (let n = 0; n < 300; n += 1) {
    const piece = Buffer.from(Array.from({ length: Math.floor(random() * 9_000) }, () => random() * 256));
    kept.add(piece);
    bytes = Buffer.concat([bytes, piece]);
    if (random() < 0.3) start = Math.max(start, Math.floor(random() * (bytes.length + 1)));
    kept.drop(start);
    kept.drop(0);
    const from = start + Math.floor(random() * (bytes.length - start + 1));
    expect(all(kept, from).equals(bytes.subarray(from))).toBe(true);
    expect([kept.start, kept.end]).toEqual([start, bytes.length]);
  }
});

test('H836: kept bytes share no memory with the buffer that they came in, and are gone once dropped', () => {
  const kept = new KeptBytes();
  const buffer = Buffer.from('text');
  kept.add(buffer.subarray(0, 2));
  buffer.fill('x');
  expect(all(kept, 0).toString()).toBe('te');
  kept.drop(2);
  expect([...kept.from(0)]).toEqual([]);
  kept.add(Buffer.from('ab'));
  expect(all(kept, 3).toString()).toBe('b');
});
