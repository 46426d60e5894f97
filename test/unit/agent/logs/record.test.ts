import { expect, test } from 'vitest';
import type { OutputRecord } from '../../../../agent/engine/engine.ts';
import { encodeRecord, NO_SOURCE, RecordDecoder, RecordError } from '../../../../agent/logs/record.ts';
import type { LogFormat } from '../../../../shared/streams/targets.ts';
import { fc } from '../../../support/tools/random-cases.ts';

const T0 = 1_795_228_301_123_456_789n; // 2026-11-21 02:31:41 UTC
const record = (line: string | Uint8Array, changes: Partial<OutputRecord> = {}): OutputRecord => ({
  source: 'stdout',
  timeNs: T0,
  line: Buffer.from(line as Uint8Array),
  partial: false,
  ...changes,
});
const stored = (...records: OutputRecord[]) => Buffer.concat(records.map(encodeRecord));

/** Decodes a file that grows by the given steps, through an output of `outputBytes` bytes. */
function decodeGrowing(
  file: Buffer,
  steps: readonly number[],
  outputBytes: number,
  format: LogFormat = 'raw',
): Buffer {
  const decoder = new RecordDecoder(format, NO_SOURCE);
  const output = Buffer.alloc(outputBytes);
  const parts: Buffer[] = [];
  let position = 0;
  let size = 0;
  for (const step of [...steps, file.length]) {
    size = Math.min(file.length, size + step);
    for (let full = true; full; ) {
      const decoded = decoder.decode(file.subarray(position, size), output);
      parts.push(Buffer.from(output.subarray(0, decoded.written)));
      position += decoded.read;
      full = decoded.full && decoded.read > 0;
    }
  }
  return Buffer.concat(parts);
}

const decode = (file: Buffer, format: LogFormat = 'raw') => decodeGrowing(file, [], 65536, format).toString();

const later = T0 + 60_000_000_000n;
const atOnce = '2026-11-21 02:31:41';
test.each<[string, OutputRecord[], raw: string, timestamps: string]>([
  [
    'a line gets its newline back, and begins with its time in UTC',
    [record('one'), record(''), record('two', { timeNs: later, source: 'stderr' })],
    'one\n\ntwo\n',
    `${atOnce} one\n${atOnce} \n2026-11-21 02:32:41 two\n`,
  ],
  [
    'the pieces of one line are joined, and share one time',
    [record('lo', { partial: true }), record('ng', { timeNs: later })],
    'long\n',
    `${atOnce} long\n`,
  ],
  [
    'a line that output of the other stream interrupts is split, and its rest has its own time',
    [record('lo', { partial: true }), record('error', { source: 'stderr' }), record('ng', { timeNs: later })],
    'loerror\nng\n',
    `${atOnce} lo\n${atOnce} error\n2026-11-21 02:32:41 ng\n`,
  ],
])('P10: %s', (_, records, raw, timestamps) => {
  expect(decode(stored(...records))).toBe(raw);
  expect(decode(stored(...records), 'timestamps')).toBe(timestamps);
});
test('bytes that are not UTF-8 stay as they are', () => {
  const line = Uint8Array.from([0xff, 0, 0x80, 0xc3]);
  expect(decodeGrowing(stored(record(line)), [], 100)).toEqual(Buffer.from([...line, 10]));
});
// From Docker 20.10: `printf last`, partial with metadata but not marked as the last of its line.
const unended =
  `0a067374646f757410c09690caa9fbf4181a046c61737420012a441240` +
  `${Buffer.from('0c908ea9c4f468a31dc5d8350a876efb96bf6efeb71ea83de48382b616bb3618').toString('hex')}1801`;
test.each([
  ['the output of a process that ends without a newline gets none', unended, 'last'],
  [
    'a piece that Docker marks as the last of its line gets the newline',
    '0a067374646f757410c09690caa9fbf4181a03656e6420012a020801',
    'end\n',
  ],
  ['the fields of a later Docker version are skipped', '1a0161320378797a', 'a\n'],
])('P10: %s', (_, message, text) => {
  expect(decode(framed(Buffer.from(message, 'hex')))).toBe(text);
});

const decoded = (one: OutputRecord, bytes: number, format: LogFormat) => {
  return new RecordDecoder(format, NO_SOURCE).decode(stored(one), Buffer.alloc(bytes));
};
test.each<[string, OutputRecord, LogFormat, number]>([
  ['a line and its newline', record('abc'), 'raw', 4],
  ['a piece of a line', record('abc', { partial: true }), 'raw', 3],
  ['a line with its time', record('abc'), 'timestamps', 24],
])('P10: %s is decoded if it just fits, and nothing of it with one byte less', (_, one, format, bytes) => {
  expect(decoded(one, bytes, format)).toEqual({ read: stored(one).length, written: bytes, full: false });
  expect(decoded(one, bytes - 1, format)).toEqual({ read: 0, written: 0, full: true });
});

const source = fc.constantFrom('stdout' as const, 'stderr' as const);
const ofAny = {
  source,
  timeNs: fc.bigInt(0n, 2n ** 62n),
  line: fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
  partial: fc.boolean(),
};
const records = fc.array(fc.record(ofAny), { maxLength: 30 });
const steps = fc.array(fc.nat(200));

test('P10: the decoded bytes are the written ones, however the file grows and whatever the size of the output', () => {
  fc.assert(
    fc.property(records, steps, fc.integer({ min: 400, max: 2000 }), (written, by, outputBytes) => {
      const all = written.flatMap(({ line, partial }) => [line, Buffer.from(partial ? '' : '\n')]);
      expect(decodeGrowing(stored(...written), by, outputBytes)).toEqual(Buffer.concat(all));
    }),
  );
});
test('each line of the timestamps format begins with a time, whatever the pieces and the streams', () => {
  const line = fc.stringMatching(/^[a-z ]{0,40}$/).map((text) => Buffer.from(text));
  const piece = fc.record({ ...ofAny, timeNs: fc.constant(T0), line });
  const pieces = fc.array(piece, { maxLength: 20 });
  fc.assert(
    fc.property(pieces, steps, fc.integer({ min: 100, max: 500 }), (written, by, outputBytes) => {
      const text = decodeGrowing(stored(...written), by, outputBytes, 'timestamps').toString();
      for (const one of text.replace(/\n$/, '').split('\n'))
        if (written.length > 0) expect(one).toMatch(/^2026-11-21 02:31:41 [a-z ]*$/);
      const letters = (all: string) => all.replaceAll(/[^a-z]/g, '');
      expect(letters(text)).toBe(letters(written.map((one) => one.line.toString()).join('')));
    }),
  );
});

test('P10: lengths that differ or are impossible, and a field of an unknown type or beyond its record, are damage', () => {
  const file = stored(record('one'));
  file.writeUInt32BE(1, file.length - 4);
  const fields = ['0901', '1a0561'].map((message) => framed(Buffer.from(message, 'hex')));
  for (const damaged of [file, Buffer.from('7fffffff', 'hex'), ...fields])
    expect(() => decode(damaged)).toThrow(RecordError);
});

function framed(message: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(message.length);
  return Buffer.concat([length, message, length]);
}
