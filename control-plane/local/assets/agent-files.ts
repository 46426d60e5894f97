/** Owns where Node finds what hosts install. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ReadFile } from '../../http/files.ts';
import { madeFiles } from './generated-files.ts';

const SCRIPT = join(import.meta.dirname, '../../../agent/install/install.sh');

export const agentScript = () => readFile(SCRIPT);

export function agentFiles(dataDir: string): ReadFile {
  const bundle = madeFiles('make-agent-bundle.ts', join(dataDir, 'agent-bundle'));
  return (name) => (name === 'install.sh' ? agentScript() : bundle(name));
}
