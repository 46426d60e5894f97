/**
 * `npm run demo`: control plane, agent and a real container on this machine, from nothing to `terminated`,
 * with a line for each stage. Uses only the HTTP API. Leaves no container, network or process behind, also
 * after Ctrl-C.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { connectEngine } from '../agent/engine/engine-address.ts';
import { ensureEngine, type LocalEngine } from '../agent/local/local-engine.ts';
import { terminal } from '../agent/local/terminal.ts';
import { ensureImage } from './image.ts';

const START_MS = 30_000;
const LIFE_MS = 60_000;
const HELLO = 'examples/shop/hello/hello.json';

const root = join(import.meta.dirname, '..');
const dataDir = mkdtempSync(join(tmpdir(), 'berth-demo-'));
const deployment = `demo-${process.pid}`;
const password = randomBytes(12).toString('base64url');
let engine: LocalEngine | undefined;
let controlPlane: ChildProcess | undefined;
/** Output of the control plane and its agent, shown if the demo fails. */
let output = '';

const print = (stage: string, text: string) => process.stdout.write(`${stage.padEnd(14)} ${text}\n`);

const INTERRUPTED = 130;
/** A second signal ends the demo at once. */
const interrupted = new Promise<true>((done) => {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => done(true));
});
const running = demo();
try {
  if (await Promise.race([running, interrupted])) {
    // What the demo still does fails without its control plane.
    running.catch(() => {});
    process.stderr.write('Interrupted: what the demo has started is removed.\n');
    process.exitCode = INTERRUPTED;
  }
} catch (error) {
  process.stderr.write(`${output}\nThe demo failed: ${error instanceof Error ? error.message : error}\n`);
  process.exitCode = 1;
}
await cleanUp().catch((error: unknown) => {
  const what = `containers and networks with the label berth.deployment=${deployment}`;
  process.stderr.write(`Not all could be removed (${what}): ${error}\n`);
  process.exitCode = 1;
});
process.exit();

async function demo(): Promise<void> {
  engine = await ensureEngine({ ...terminal, dataDir });
  const docker = connectEngine(engine.host);
  print(
    'engine',
    `Docker ${(await docker.version()).Version}${engine.started ? ', started for the demo' : ''}`,
  );
  print('image', await ensureImage(docker));

  const url = await startControlPlane(engine.host);
  print('control plane', url);
  await until(START_MS, 'no agent joined', () => output.includes('"agent.connected"'));
  print('agent', 'joined');

  const api = client(`${url}/api/0.7`);
  const application = JSON.parse(readFileSync(join(root, HELLO), 'utf8'));
  const submission = { name: 'hello', application };
  const { execution_id: id } = await api<{ execution_id: number }>('POST', 'execution', submission);
  print('submitted', `${HELLO} as execution ${id}`);
  const [service] = (await api<Execution>('GET', `execution/${id}`)).services;
  const log = followLog(`${url}/api/0.7/service/logs/${service}`);
  // Its failure is one of the demo, which awaits it at the end.
  log.catch(() => {});

  const seen = new Set<string>();
  let greeted = false;
  const execution = await until(LIFE_MS, `execution ${id} did not end`, async () => {
    const now = await api<Execution>('GET', `execution/${id}`);
    if (seen.size === 0 && now.status !== 'queued')
      print('queued', 'for no time: there was capacity at once');
    if (!seen.has(now.status)) print(now.status, statusText(now));
    seen.add(now.status);
    if (now.status === 'running' && !greeted) greeted = await visitEndpoints(api, id);
    return now.status === 'terminated' || now.status === 'error' ? now : undefined;
  });
  const lines = await log;
  if (execution.status === 'error') throw new Error(String(execution.error_message));
  if (!greeted) throw new Error('no endpoint of the execution answered');
  if (lines < 5) throw new Error(`only ${lines} lines of the log arrived`);
  await api('DELETE', `execution/delete/${id}`);
}

interface Execution {
  status: string;
  time_submit: number;
  time_start: number | null;
  time_end: number | null;
  error_message: string | null;
  services: number[];
}

function statusText({ status, time_submit, time_start, time_end, error_message }: Execution): string {
  const since = (from: number | null, to: number | null) => `${((to ?? 0) - (from ?? 0)).toFixed(2)} s`;
  switch (status) {
    case 'queued':
      return 'waits for capacity';
    case 'starting':
      return 'containers are being created';
    case 'running':
      return `${since(time_submit, time_start)} after it was submitted`;
    case 'cleaning up':
      return 'its containers are removed';
    case 'terminated':
      return `${since(time_start, time_end)} after it started`;
    default:
      return String(error_message);
  }
}

function startControlPlane(dockerHost: string): Promise<string> {
  const child = spawn(process.execPath, [...process.execArgv, join(root, 'control-plane/node.ts')], {
    env: {
      ...process.env,
      DOCKER_HOST: dockerHost,
      BERTH_PORT: '0',
      BERTH_HOST: '127.0.0.1',
      BERTH_DATA_DIR: dataDir,
      BERTH_DATABASE_URL: '',
      BERTH_API_VARIANT: 'B',
      BERTH_DEPLOYMENT_NAME: deployment,
      BERTH_ADMIN_PASSWORD: password,
      BERTH_LOCAL_AGENT: 'on',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    // Ctrl-C reaches the demo alone, which ends the control plane after that.
    detached: true,
  });
  controlPlane = child;
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-100_000);
    });
  }
  return until(START_MS, 'the control plane did not start', () => {
    if (child.exitCode !== null) throw new Error('the control plane ended');
    return output.match(/listens on (http:\/\/\S+)/)?.[1];
  });
}

/** The response has the type that the API contract gives it. */
type Client = <T = void>(method: string, path: string, body?: unknown) => Promise<T>;

function client(base: string): Client {
  return async <T>(method: string, path: string, body?: unknown) => {
    const response = await fetch(`${base}/${path}`, {
      method,
      headers: { authorization: credentials() },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return (text === '' ? undefined : JSON.parse(text)) as T;
  };
}

function credentials(): string {
  return `Basic ${btoa(`admin:${password}`)}`;
}

/** Prints each line as it arrives; resolves to the number of lines at the end of the stream. */
async function followLog(url: string): Promise<number> {
  const response = await fetch(url, { headers: { authorization: credentials() } });
  if (!response.ok || !response.body) throw new Error(`the log can't be read: ${response.status}`);
  let rest = '';
  let lines = 0;
  for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
    const parts = (rest + text).split('\n');
    rest = parts.pop() ?? '';
    for (const line of parts) print('  log', line);
    lines += parts.length;
  }
  return lines;
}

/** Prints the endpoints and their responses; false until all of them respond. */
async function visitEndpoints(api: Client, id: number): Promise<boolean> {
  const endpoints = await api<[string, string][]>('GET', `execution/endpoints/${id}`);
  for (const [name, url] of endpoints) {
    const answer = await fetch(url)
      .then((response) => response.text())
      .catch(() => undefined);
    if (answer === undefined) return false;
    print('endpoint', `${name} ${url} answers "${answer.trim()}"`);
  }
  return endpoints.length > 0;
}

/** Polls until `probe` returns something; fails with `problem` after `timeMs`. */
async function until<T>(
  timeMs: number,
  problem: string,
  probe: () => T | Promise<T>,
): Promise<NonNullable<T>> {
  const deadlineMs = Date.now() + timeMs;
  for (;;) {
    const found = await probe();
    if (found) return found;
    if (Date.now() > deadlineMs) throw new Error(`${problem} within ${timeMs / 1000} s`);
    await pause(50);
  }
}

/** Stops and removes everything that this run created, also after a failure. */
async function cleanUp(): Promise<void> {
  await stopControlPlane();
  if (engine) await removeLeftovers(engine.host);
  await engine?.stop();
  rmSync(dataDir, { recursive: true, force: true });
}

function stopControlPlane(): Promise<void> {
  return new Promise((done) => {
    const child = controlPlane;
    if (!child || child.exitCode !== null || child.signalCode !== null) return done();
    child.once('exit', () => done());
    child.kill('SIGTERM');
    setTimeout(() => child.kill('SIGKILL'), 15_000).unref();
  });
}

async function removeLeftovers(host: string): Promise<void> {
  const docker = connectEngine(host);
  const filters = { label: [`berth.deployment=${deployment}`] };
  const containers = await docker.listContainers({ all: true, filters });
  await Promise.all(containers.map(({ Id }) => docker.getContainer(Id).remove({ force: true, v: true })));
  const networks = await docker.listNetworks({ filters });
  await Promise.all(networks.map(({ Id }) => docker.getNetwork(Id).remove()));
}
