/**
 * Entry of the agent that `npm start` and `npm run dev` run beside the control plane, on this machine's
 * engine, which is started if none answers. The engine is left running at the end, since containers must
 * outlive the agent. With `compile` the program only fills Node's compile cache
 * (control-plane/local/lean-start.ts).
 */

import { runAgent } from '../agent-process.ts';
import { RefusedError } from '../connection/refused-error.ts';
import { FolderTakenError } from '../host/data-folder-lock.ts';
import { ensureEngine } from './local-engine.ts';
import { terminal } from './terminal.ts';

if (process.argv[2] === 'compile') process.exit(0);
// The parent process is gone: end as after a signal.
process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
try {
  const dataDir = process.env.BERTH_DATA_DIR;
  const { host } = await ensureEngine({ ...terminal, ...(dataDir ? { dataDir } : {}) });
  process.env.DOCKER_HOST = host;
  await runAgent(process.env);
  process.exit(0);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
  // 1: no agent can run here until a person acts. 2: the control plane continues without this agent. 3: the
  // agent is started again, because the agent of a killed control plane may take longer to end than this one
  // to begin.
  process.exit(error instanceof FolderTakenError ? 3 : error instanceof RefusedError ? 2 : 1);
}
