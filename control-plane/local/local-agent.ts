/**
 * Runs the agent of this machine as a child process of a local control plane: restarts it whenever it ends,
 * and stops it together with the control plane. A separate process, so that a busy engine never delays the
 * API, and one that is away never ends it.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { unknownIn } from '../../shared/settings/setting-names.ts';

export const LOCAL_AGENT = join(import.meta.dirname, '../../agent/local/local.ts');
const RESTART_DELAY_MS = 1_000;
/** The delay doubles up to this while no agent can run here. */
const MAX_RESTART_DELAY_MS = 30_000;

/**
 * The control plane has a larger one for many concurrent requests. In the agent it would only grow with each
 * log that is read.
 */
const SMALL_YOUNG_GENERATION = '--max-semi-space-size=1';

/** Exit codes of agent/local/local.ts; any other end is a crash. */
const UNABLE = 1;
const REFUSED = 2;

export interface LocalAgentOptions {
  /** URL of the control plane. */
  url: string;
  dataDir: string;
  deploymentName: string;
  /** Creates a join token for each start. An agent that already has a key does not use it. */
  joinToken(): Promise<string>;
  /**
   * Called if no agent can run on a machine that has never had one, and a person sees the reason, which the
   * agent has printed.
   */
  unable(): void;
  /** Whether a person watches the start; by default, whether it is at a terminal. */
  isWatched?: boolean;
}

/** `stop` resolves when the agent has ended; its containers continue to run. */
export function startLocalAgent(options: LocalAgentOptions): { stop(): Promise<void> } {
  const { url, dataDir, deploymentName, joinToken, unable } = options;
  const { isWatched = process.stdin.isTTY && process.stderr.isTTY } = options;
  const agentDir = process.env.BERTH_AGENT_DATA_DIR ?? join(dataDir, 'agent');
  const mayEnd = isWatched && !existsSync(agentDir);
  let delayMs = RESTART_DELAY_MS;
  let stopping = false;
  let child: ChildProcess | undefined;
  let restart: NodeJS.Timeout | undefined;
  const run = async () => {
    const token = await joinToken().catch(() => undefined);
    if (stopping) return;
    if (token === undefined) {
      restart = setTimeout(begin, RESTART_DELAY_MS);
      return;
    }
    const env = {
      ...withoutSecrets(process.env),
      BERTH_AGENT_DATA_DIR: agentDir,
      BERTH_URL: url,
      BERTH_JOIN_TOKEN: token,
      BERTH_DEPLOYMENT_NAME: deploymentName,
    };
    // The channel carries no messages. Its end informs the agent that this process has ended, for whatever
    // reason.
    child = spawn(process.execPath, [...process.execArgv, SMALL_YOUNG_GENERATION, LOCAL_AGENT], {
      env,
      stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    });
    child.on('exit', (code) => {
      if (stopping || code === REFUSED) return;
      if (code === UNABLE && mayEnd) return unable();
      if (code === UNABLE) return later();
      delayMs = RESTART_DELAY_MS;
      restart = setTimeout(begin, delayMs);
    });
    if (child.pid === undefined) child.once('error', unstarted);
  };
  const later = () => {
    delayMs = Math.min(2 * delayMs, MAX_RESTART_DELAY_MS);
    process.stderr.write(`The agent of this machine is started again in ${delayMs / 1_000} s.\n`);
    restart = setTimeout(begin, delayMs);
  };
  // The machine has no memory or no processes left, for example.
  const unstarted = (error: Error) => {
    process.stderr.write(`The agent of this machine could not be started: ${error.message}\n`);
    if (!stopping) later();
  };
  const begin = () => void run().catch(unstarted);
  begin();
  return {
    stop: () =>
      new Promise((done) => {
        stopping = true;
        clearTimeout(restart);
        if (!child || child.pid === undefined || child.exitCode !== null || child.signalCode !== null)
          return done();
        child.once('exit', () => done());
        child.kill('SIGTERM');
      }),
  };
}

/** Credentials of the control plane. The agent needs none of them, so it must not receive them. */
const SECRETS = [
  'BERTH_ADMIN_PASSWORD',
  'BERTH_LDAP_BIND_PASSWORD',
  'BERTH_DATABASE_URL',
  'BERTH_DATABASE_TOKEN',
  'BERTH_METRICS',
  'BERTH_OIDC_CLIENT_SECRET',
  'BERTH_SECRET_KEYS',
];

/** Nor does the agent need unknown settings, which the control plane has reported. */
function withoutSecrets(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const left = [...SECRETS, ...unknownIn(env).map(({ name }) => name)];
  return Object.fromEntries(Object.entries(env).filter(([name]) => !left.includes(name)));
}
