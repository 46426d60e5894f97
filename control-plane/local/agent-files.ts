/**
 * Owns where Node finds what hosts install. The bundle is made when it is first asked for in the life of this process, by
 * another one, so that it delays no request and costs no memory.
 */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { ReadFile } from '../http/files.ts';

const SCRIPT = join(import.meta.dirname, '../../agent/install.sh');
const MAKER = join(import.meta.dirname, 'make-agent-bundle.ts');
const LIMIT_MS = 120_000;

export const agentScript = () => readFile(SCRIPT);

export function agentFiles(dataDir: string): ReadFile {
  const folder = join(dataDir, 'agent-bundle');
  let made: Promise<unknown> | undefined;
  return async (name) => {
    if (name === 'install.sh') return agentScript();
    made ??= promisify(execFile)(process.execPath, [MAKER, folder], { timeout: LIMIT_MS });
    try {
      await made;
    } catch (cause) {
      // The next one who asks finds it mended, perhaps.
      made = undefined;
      throw new Error(`the agent's bundle can't be made in ${folder}: ${cause}`, { cause });
    }
    return readFile(join(folder, name));
  };
}
