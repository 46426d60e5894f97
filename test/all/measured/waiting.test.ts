/** The heap that waiting executions take. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import type { Measurement } from '../../../tools/bench/figure.ts';

const run = promisify(execFile);

test('C176: an execution that waits takes at most 500 bytes of heap, and 64 more if its need is its own', async () => {
  // In a process of its own, because other tests change how V8 lays out objects.
  const program = `const { measureWaiting } = await import('./tools/bench/waiting.ts');
    console.log(JSON.stringify(measureWaiting()));`;
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', program]);
  const figures = JSON.parse(stdout) as Measurement[];
  expect(figures).not.toEqual([]);
  for (const { name, figure, goal } of figures) expect(figure, name).toBeLessThanOrEqual(goal.amount);
});
