/** Temporary folders that are removed when their test or suite has finished. */
import { randomUUID } from 'node:crypto';
import { realpathSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import { scratchFolder } from './folder.ts';

export async function testFolder(): Promise<string> {
  const path = await scratchFolder('berth-test-');
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return path;
}

/** It is made before what the suite sets up after this call, and removed after that has ended. */
export function suiteFolder(): string {
  const path = join(realpathSync(tmpdir()), `berth-test-${randomUUID().slice(0, 8)}`);
  beforeAll(() => mkdir(path, { mode: 0o700 }));
  afterAll(() => rm(path, { recursive: true, force: true }));
  return path;
}
