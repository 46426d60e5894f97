/**
 * Owns the agent of this machine as a child process of a local control plane: started again when it dies, told to stop
 * with it. A process of its own, so that a busy engine never delays the API.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';

export const LOCAL_AGENT = join(import.meta.dirname, '../../agent/local/local.ts');
const RESTART_DELAY_MS = 1_000;

/** The control plane has a larger one, for many requests at once; here it would only grow with each log that is read. */
const SMALL_YOUNG_GENERATION = '--max-semi-space-size=1';

/** Exit codes of agent/local/local.ts; any other end is an accident. */
const UNABLE = 1;
const REFUSED = 2;

export interface LocalAgentOptions {
  /** Of the control plane. */
  url: string;
  dataDir: string;
  deploymentName: string;
  /** Makes a join token, for each start a new one: an agent that has its key already leaves it unused. */
  joinToken(): Promise<string>;
  /** Called where no agent can run here until a person acts; it has said why. */
  unable(): void;
}

/** Resolves `stop` once the agent is gone; its containers go on running. */
export function startLocalAgent(options: LocalAgentOptions): { stop(): Promise<void> } {
  const { url, dataDir, deploymentName, joinToken, unable } = options;
  let stopping = false;
  let child: ChildProcess | undefined;
  let restart: NodeJS.Timeout | undefined;
  const run = async () => {
    const token = await joinToken().catch(() => undefined);
    if (stopping) return;
    if (token === undefined) {
      restart = setTimeout(run, RESTART_DELAY_MS);
      return;
    }
    // It runs as many do who get on: what opens the control plane is not for it.
    const {
      BERTH_ADMIN_PASSWORD: _,
      BERTH_DATABASE_URL: __,
      BERTH_DATABASE_TOKEN: ___,
      ...ours
    } = process.env;
    const env = {
      BERTH_AGENT_DATA_DIR: join(dataDir, 'agent'),
      ...ours,
      BERTH_URL: url,
      BERTH_JOIN_TOKEN: token,
      BERTH_DEPLOYMENT_NAME: deploymentName,
    };
    // The channel says nothing; that it closes tells the agent that this process is gone, however that ended.
    child = spawn(process.execPath, [...process.execArgv, SMALL_YOUNG_GENERATION, LOCAL_AGENT], {
      env,
      stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    });
    child.on('exit', (code) => {
      if (stopping || code === REFUSED) return;
      if (code === UNABLE) unable();
      else restart = setTimeout(run, RESTART_DELAY_MS);
    });
  };
  void run();
  return {
    stop: () =>
      new Promise((done) => {
        stopping = true;
        clearTimeout(restart);
        if (!child || child.exitCode !== null || child.signalCode !== null) return done();
        child.once('exit', () => done());
        child.kill('SIGTERM');
      }),
  };
}
