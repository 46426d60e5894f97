/**
 * Entry of the agent that `npm start` and `npm run dev` run beside the control plane: on this machine's engine,
 * which is started where none answers. The engine is left running at the end, since containers must outlive us. With
 * `compile` it only leaves its modules in Node's compile cache (control-plane/local/lean-start.ts).
 */

import { runAgent } from '../agent-process.ts';
import { RefusedError } from '../connection/refused-error.ts';
import { FolderTakenError } from '../host/data-folder-lock.ts';
import { ensureEngine } from './local-engine.ts';
import { terminal } from './terminal.ts';

if (process.argv[2] === 'compile') process.exit(0);
// Whoever started this agent is gone: end as after a signal.
process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
try {
  const dataDir = process.env.BERTH_DATA_DIR;
  const { host } = await ensureEngine({ ...terminal, ...(dataDir ? { dataDir } : {}) });
  process.env.DOCKER_HOST = host;
  await runAgent(process.env);
  process.exit(0);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
  // 1: nothing can run here until a person acts. 2: the control plane goes on, with another agent in this one's place. Else it
  // is started again: the agent of a control plane that was killed may take longer to end than the next one to begin.
  process.exit(error instanceof FolderTakenError ? 3 : error instanceof RefusedError ? 2 : 1);
}
