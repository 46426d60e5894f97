/** Entry of a process of its own that makes the agent's bundle in the folder it is told, since that takes 100 MB for a second. */
import { ensureAgentBundle } from './agent-bundle.ts';

const [folder] = process.argv.slice(2);
if (!folder) throw new Error('usage: make-agent-bundle.ts FOLDER');
await ensureAgentBundle(folder);
