/**
 * The bundle for Cloudflare, as wrangler builds it. Also the global set-up of the vitest projects with many
 * tests on workerd: those share one bundle, since each costs as much time as a start of workerd.
 */
import { copyFile, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { scratchFolder } from '../../tools/folder.ts';
import { readTool } from '../../tools/tool.ts';
import { withCheapPasswords } from '../password-cost.ts';

const SHARED = 'BERTH_TEST_BUNDLE';

export default async function setup(): Promise<() => Promise<void>> {
  const folder = await scratchFolder('berth-bundle-');
  await build(folder, []);
  const worker = join(folder, 'worker.js');
  await writeFile(worker, withCheapPasswords(await readFile(worker, 'utf8')));
  process.env[SHARED] = folder;
  return () => rm(folder, { recursive: true, force: true });
}

/** Writes worker.js to the folder. `entry`: a Worker in place of the one of wrangler.toml. */
export async function bundleInto(folder: string, entry?: string): Promise<void> {
  const shared = process.env[SHARED];
  if (shared && !entry) await copyFile(join(shared, 'worker.js'), join(folder, 'worker.js'));
  else await build(folder, entry ? [entry] : []);
}

const build = (folder: string, entry: string[]): Promise<string> =>
  readTool('wrangler', ['deploy', ...entry, '--dry-run', '--outdir', folder]);
