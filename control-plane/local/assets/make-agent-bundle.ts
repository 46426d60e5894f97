/**
 * Entry of a separate process that builds the bundle of the agent in the given folder: a build takes 100 MB
 * for a second.
 */
import { ensureAgentBundle } from './agent-bundle.ts';

const [folder] = process.argv.slice(2);
if (!folder) throw new Error('usage: make-agent-bundle.ts FOLDER');
await ensureAgentBundle(folder);
