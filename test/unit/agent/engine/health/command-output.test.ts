import { expect, test } from 'vitest';
import { CommandOutput } from '../../../../../agent/engine/health/command-probe.ts';
import { frame } from '../../../../support/fixtures/engine-frames.ts';

test('P212: the beginning of the output is kept as one line, wherever chunks divide its frames', () => {
  const bytes = Buffer.concat([
    frame('no data'),
    frame('base\n', 2),
    frame(''),
    frame(`${'x'.repeat(400)}\u00e9`),
  ]);
  for (const size of [1, 3, 9, 10_000]) {
    const output = new CommandOutput();
    for (let at = 0; at < bytes.length; at += size) output.push(bytes.subarray(at, at + size));
    expect(output.text).toBe(`no database ${'x'.repeat(188)}`);
    expect(output.bytes).toBe(bytes.length);
  }
});

test('P212: a chunk of thousands of frames with one byte each costs no more than its length', () => {
  const output = new CommandOutput();
  const chunk = Buffer.concat(Array.from({ length: 100_000 }, () => frame('')));
  output.push(chunk);
  output.push(frame('end'));
  expect(output.text).toBe('end');
});
