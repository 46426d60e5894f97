/** The files that hosts install, on Node. */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AGENT_BUNDLE, AGENT_RELEASE } from '../../../shared/protocol/release.ts';
import type { ReadFile } from '../../http/files.ts';
import { generatedFiles } from './generated-files.ts';
import { sharedFiles } from './shared-files.ts';

const SCRIPT = join(import.meta.dirname, '../../../agent/install/install.sh');
/** In a release of Berth: its agent, signed. */
const RELEASED = join(import.meta.dirname, '../../../agent/release');

export const agentScript = () => readFile(SCRIPT);

/** `given` is the setting BERTH_AGENT_RELEASE. Throws if it is set and has no signed agent. */
export function agentFiles(dataDir: string, given: string | undefined): ReadFile {
  const signed = signedAgent(given);
  const bundle = signed
    ? sharedFiles((name) => readFile(join(signed, name)))
    : generatedFiles('make-agent-bundle.ts', join(dataDir, 'agent-bundle'));
  return (name) => (name === 'install.sh' ? agentScript() : bundle(name));
}

/** The folder of a signed agent; undefined if there is none. */
export function signedAgent(given: string | undefined): string | undefined {
  const folder = given ?? RELEASED;
  const isThere = [AGENT_BUNDLE, AGENT_RELEASE].every((name) => existsSync(join(folder, name)));
  if (!isThere && given !== undefined)
    throw new Error(
      `BERTH_AGENT_RELEASE=${given} has no ${AGENT_BUNDLE} with its ${AGENT_RELEASE}: see "Updates of agents" in docs/operator-guide.md.`,
    );
  return isThere ? folder : undefined;
}
