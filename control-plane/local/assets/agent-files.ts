/** The files that hosts install, on Node. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ReadFile } from '../../http/files.ts';
import { generatedFiles } from './generated-files.ts';

const SCRIPT = join(import.meta.dirname, '../../../agent/install/install.sh');

export const agentScript = () => readFile(SCRIPT);

export function agentFiles(dataDir: string): ReadFile {
  const bundle = generatedFiles('make-agent-bundle.ts', join(dataDir, 'agent-bundle'));
  return (name) => (name === 'install.sh' ? agentScript() : bundle(name));
}
