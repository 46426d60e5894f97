import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { outputRecords } from '../../../../agent/engine/docker/output-stream.ts';
import type { OutputRecord } from '../../../../agent/engine/engine.ts';
import { frame as frameOf } from '../../../support/fixtures/engine-frames.ts';
import { fc } from '../../../support/tools/random-cases.ts';

const TIME = '2026-11-21T02:31:41.123456789Z';
const TIME_NS = 1_795_228_301_123_456_789n;
const LATER = '2026-11-21T02:31:41.5Z';

/** A frame with the time and a piece of a line. */
const frame = (source: 'stdout' | 'stderr', piece: string, time = TIME): Buffer =>
  frameOf(Buffer.from(`${time} ${piece}`, 'latin1'), source === 'stderr' ? 2 : 1);

async function recordsOf(...chunks: Buffer[]): Promise<OutputRecord[]> {
  const found: OutputRecord[] = [];
  for await (const record of outputRecords(Readable.from(chunks))) found.push(record);
  return found;
}

const shown = (records: readonly OutputRecord[]) =>
  records.map(({ source, line, partial }) => [source, line.toString('latin1'), partial]);

test('P10: each frame of the engine is a line or a piece, of its source and with its time', async () => {
  const found = await recordsOf(
    frame('stdout', 'one\n'),
    frame('stderr', '\n'),
    frame('stdout', 'no end', LATER),
  );
  expect(shown(found)).toEqual([
    ['stdout', 'one', false],
    ['stderr', '', false],
    ['stdout', 'no end', true],
  ]);
  expect(found.map(({ timeNs }) => timeNs)).toEqual([TIME_NS, TIME_NS, 1_795_228_301_500_000_000n]);
});

test('P10: the last piece of a long line ends it, although the engine gives it no newline', async () => {
  const full = 'x'.repeat(16 * 1024);
  const long = [frame('stdout', full), frame('stdout', full), frame('stdout', 'rest')];
  const found = await recordsOf(...long, frame('stdout', 'new', LATER), frame('stderr', full, LATER));
  expect(found.map(({ partial }) => partial)).toEqual([true, true, false, true, true]);
  const other = await recordsOf(frame('stdout', full), frame('stderr', 'word'), frame('stdout', 'rest'));
  expect(other.map(({ partial }) => partial)).toEqual([true, true, false]);
});

test('P10: the records are the same, whatever the parts in which the frames arrive', async () => {
  const pieces = fc.array(
    fc.record({
      source: fc.constantFrom('stdout' as const, 'stderr' as const),
      piece: fc.stringMatching(/^[a-z ]{0,40}\n?$/),
    }),
    { maxLength: 10 },
  );
  await fc.assert(
    fc.asyncProperty(pieces, fc.array(fc.integer({ min: 1, max: 60 })), async (written, sizes) => {
      const whole = Buffer.concat(written.map(({ source, piece }) => frame(source, piece)));
      const chunks: Buffer[] = [];
      let at = 0;
      for (const size of sizes) {
        chunks.push(whole.subarray(at, at + size));
        at += size;
      }
      chunks.push(whole.subarray(at));
      const expected = written.map(({ source, piece }) => [
        source,
        piece.replace('\n', ''),
        !piece.endsWith('\n'),
      ]);
      expect(shown(await recordsOf(...chunks.filter(({ length }) => length > 0)))).toEqual(expected);
    }),
  );
});
