import { expect, test } from 'vitest';
import { LineSplitter } from '../../../client/lines.ts';
import { readOutput } from '../../../client/output.ts';
import { encodeFrame, encodeNote } from '../../../shared/streams/log-frames.ts';
import { fc } from '../../support/tools/random-cases.ts';

const SERVICE = 7;
const bytesOf = (text: string) => new TextEncoder().encode(text);

/** The lines as text, with what ends each part: `+` where it goes on. */
function split(pieces: readonly (readonly [start: number, bytes: Uint8Array])[], maxBytes: number) {
  const splitter = new LineSplitter(maxBytes);
  const parts = pieces.flatMap(([start, bytes]) => splitter.push(SERVICE, start, bytes));
  const all = [...parts, ...splitter.rest().map(([, part]) => part)];
  return all.map(({ bytes, isFirst, end }) => ({ text: Buffer.from(bytes).toString(), isFirst, end }));
}

test('L83: the parts of long lines together are the output, whatever its pieces, and no part cuts a character', () => {
  const line = fc.string({ unit: fc.constantFrom('a', 'é', '€', '𝄞', '\r', '\t'), maxLength: 40 });
  const most = fc.integer({ min: 4, max: 12 });
  fc.assert(
    fc.property(fc.array(line), fc.array(fc.nat(9)), most, (lines, sizes, maxBytes) => {
      const output = bytesOf(lines.join('\n'));
      const pieces: [number, Uint8Array][] = [];
      for (let at = 0, n = 0; at < output.length; n++) {
        const size = sizes[n % sizes.length] || 1;
        pieces.push([1, output.subarray(at, at + size)]);
        at += size;
      }
      const parts = split(pieces, maxBytes);
      expect(parts.map(({ text, end = '' }) => text + end).join('')).toBe(lines.join('\n'));
      for (const [n, { text, isFirst, end }] of parts.entries()) {
        expect(Buffer.byteLength(text)).toBeLessThanOrEqual(maxBytes);
        expect(text).not.toContain('\ufffd');
        expect(isFirst).toBe(n === 0 || parts[n - 1]?.end !== undefined);
        if (n < parts.length - 1) expect(end).not.toBe('');
      }
    }),
  );
});

test('L83: a start begins with a new line, also after a long line; bytes that are no text come in parts, too, and none is lost', () => {
  const noText = new LineSplitter(8).push(SERVICE, 1, new Uint8Array(100).fill(0x80));
  expect(Buffer.concat(noText.map((part) => part.bytes)).length).toBeGreaterThanOrEqual(92);
  const pieces = [
    [1, bytesOf('one')],
    [2, bytesOf('two\n')],
    [3, bytesOf('12345')],
    [4, bytesOf('four')],
  ] as const;
  expect(split(pieces, 4)).toEqual([
    { text: 'one', isFirst: true, end: '' },
    { text: 'two', isFirst: true, end: '\n' },
    { text: '1234', isFirst: true, end: undefined },
    { text: '5', isFirst: false, end: '' },
    { text: 'four', isFirst: true, end: '' },
  ]);
});

test('L83: with times, the output itself ends the last line of a start before the next start', async () => {
  const frame = (generation: number, text: string) =>
    encodeFrame({ service: SERVICE, position: { generation, offset: 0 }, payload: bytesOf(text) });
  const stream = async function* () {
    yield* [frame(1, 'a'), frame(1, 'b'), frame(3, 'c\n'), frame(4, 'd')];
    yield encodeNote(SERVICE, { ended: true });
  };
  const read = async (timestamps: boolean) => {
    const all: string[] = [];
    const options = { timestamps };
    for await (const { start, bytes } of readOutput(async () => stream(), [SERVICE], options))
      all.push(`${start}${Buffer.from(bytes)}`);
    return all;
  };
  expect(await read(true)).toEqual(['1a', '1b', '1\n', '3c\n', '4d']);
  expect(await read(false)).toEqual(['1a', '1b', '3c\n', '4d']);
});
