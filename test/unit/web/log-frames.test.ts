import { expect, test } from 'vitest';
import {
  decodeFrame,
  encodeFrame,
  encodeNote,
  FrameSplitter,
  heartbeat,
  noteOf,
} from '../../../shared/streams/log-frames.ts';

const payload = new TextEncoder().encode('some output\n');
const frames = [
  encodeFrame({ service: 7, position: { generation: 3, offset: 2 ** 40 }, payload }),
  heartbeat(),
  encodeNote(7, { trouble: 'away' }),
];
const bytes = new Uint8Array(Buffer.concat(frames));

test.each([1, 7, 19, 20, 21, 1000])('W31: frames are recovered from pieces of %d bytes', (size) => {
  const splitter = new FrameSplitter();
  const found = [];
  for (let at = 0; at < bytes.length; at += size) found.push(...splitter.push(bytes.slice(at, at + size)));
  expect(found.map((one) => Buffer.from(one))).toEqual(frames.map((one) => Buffer.from(one)));
  const [first, second, third] = found.map(decodeFrame);
  expect(first).toMatchObject({ service: 7, position: { generation: 3, offset: 2 ** 40 } });
  expect(first && noteOf(first)).toBeUndefined();
  expect(second).toMatchObject({ service: 0, position: { generation: 0 } });
  expect(third && noteOf(third)).toEqual({ trouble: 'away' });
});

test('W31: invalid data is refused before its length is believed', () => {
  const broken = encodeFrame({ service: 7, position: { generation: 1, offset: 0 }, payload });
  broken.fill(0xff, 16, 20);
  expect(() => new FrameSplitter().push(broken)).toThrow('invalid frame');
});
