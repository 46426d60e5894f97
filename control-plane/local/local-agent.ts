/**
 * Runs the agent of this machine as a child process of a local control plane: restarts it after a crash, and
 * stops it together with the control plane. A separate process, so that a busy engine never delays the API.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';

export const LOCAL_AGENT = join(import.meta.dirname, '../../agent/local/local.ts');
const RESTART_DELAY_MS = 1_000;

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
  /** Called if no agent can run here until a person acts; the agent has printed the reason. */
  unable(): void;
}

/** `stop` resolves when the agent has ended; its containers continue to run. */
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
    const env = {
      BERTH_AGENT_DATA_DIR: join(dataDir, 'agent'),
      ...withoutSecrets(process.env),
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

/** Credentials of the control plane. The agent needs none of them, so it must not receive them. */
const SECRETS = [
  'BERTH_ADMIN_PASSWORD',
  'BERTH_LDAP_BIND_PASSWORD',
  'BERTH_DATABASE_URL',
  'BERTH_DATABASE_TOKEN',
  'BERTH_METRICS_TOKEN',
  'BERTH_OIDC_CLIENT_SECRET',
  'BERTH_SECRET_KEYS',
];

const withoutSecrets = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !SECRETS.includes(name)));
