/** Measures how long the command line takes to start, above what Node takes to do nothing. */
import { spawnSync } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { bundleCommand } from '../../release/command.ts';
import { scratchFolder } from '../../test/support/tools/folder.ts';
import { atMost, type Measurement, median } from './figure.ts';

const ROUNDS = 40;

export async function measureCommand(): Promise<Measurement[]> {
  const folder = await scratchFolder('berth-bench-command-');
  try {
    const program = join(folder, 'berth.mjs');
    await bundleCommand(program);
    const berth: number[] = [];
    const nothing: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      berth.push(timeOf([program, '--version']));
      nothing.push(timeOf(['-e', '0']));
    }
    const above = median(berth.map((ms, round) => ms - (nothing[round] ?? 0)));
    const name = 'berth --version: time above that of node -e 0, median of pairs';
    return [{ name, unit: 'ms', figure: above, limit: median(nothing), goal: atMost(50, 'figure') }];
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** In ms. Node must not use a cache that people would not have. */
function timeOf(args: string[]): number {
  const { NODE_COMPILE_CACHE: _, ...env } = process.env;
  const beganMs = performance.now();
  const { status } = spawnSync(process.execPath, args, { env, stdio: 'ignore' });
  if (status !== 0) throw new Error(`node ${args.join(' ')} ended with ${status}`);
  return performance.now() - beganMs;
}
