/** A temporary folder of a test, which is removed when the test has finished. */
import { rm } from 'node:fs/promises';
import { onTestFinished } from 'vitest';
import { scratchFolder } from './folder.ts';

export async function testFolder(): Promise<string> {
  const path = await scratchFolder('berth-test-');
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return path;
}
