/** Finding and starting an engine, with a program in the place of dockerd. */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { type DaemonPlace, startDockerd } from '../../../../agent/local/dockerd.ts';
import { ensureEngine } from '../../../../agent/local/local-engine.ts';
import { testFolder } from '../../../support/tools/test-folder.ts';

let folder: string;
let place: DaemonPlace;
let said: string[];

beforeEach(async () => {
  folder = await testFolder();
  place = {
    ...{ socketPath: `${folder}/engine.sock`, pidFile: `${folder}/docker.pid`, args: [] },
    containerdPidFile: `${folder}/containerd.pid`,
  };
  said = [];
  await writeFile(
    `${folder}/dockerd`,
    `#!${process.execPath}
process.title = 'dockerd';
console.log('with', process.argv[2], process.env.DOCKER_HOST, process.env.BERTH_X);
const { writeFileSync } = require('node:fs');
if (process.argv[2] === 'fail') {
  for (let n = 1; n <= 9; n++) console.log('line', n);
  process.exit(3);
}
writeFileSync('${place.pidFile}', String(process.pid));
process.on('SIGTERM', () => process.exit(0));
require('node:http').createServer((_, response) => response.end('OK')).listen('${place.socketPath}');
`,
    { mode: 0o755 },
  );
});

const logFile = () => `${folder}/logs/dockerd.log`;
const start = (args: string[] = []) =>
  startDockerd({
    ...{ program: `${folder}/dockerd`, place: { ...place, args }, logFile: logFile() },
    say: (line) => said.push(line),
  });
const isRunning = (pid: number) => existsSync(`/proc/${pid}`);
const pidIn = async () => Number(await readFile(place.pidFile, 'utf8'));

test('a dockerd is started without settings of Berth, although files name processes that are not its own, and ends', async () => {
  vi.stubEnv('DOCKER_HOST', 'unix:///nowhere');
  vi.stubEnv('BERTH_X', 'secret');
  onTestFinished(() => void vi.unstubAllEnvs());
  for (const file of [place.pidFile, place.containerdPidFile]) await writeFile(file, `${process.pid}`);
  const dockerd = await start(['usual']);
  expect(said).toEqual([`Starting dockerd (its log: ${logFile()})`]);
  expect(await readFile(logFile(), 'utf8')).toBe('with usual undefined undefined\n');
  await expect(readFile(place.containerdPidFile)).rejects.toThrow('ENOENT');
  const pid = await pidIn();
  // It is the leader of a session of its own, which no Ctrl-C reaches.
  expect((await readFile(`/proc/${pid}/stat`, 'utf8')).split(') ')[1]?.split(' ')[3]).toBe(String(pid));
  await dockerd?.stop();
  expect(isRunning(pid)).toBe(false);
});

test('a dockerd that ends before it answers is an error with the end of its log', async () => {
  const started = start(['fail']);
  await expect(started).rejects.toThrow(/dockerd ended \(3\) before it answered/);
  await expect(started).rejects.toThrow(/:\n(line \d\n){7}line 9$/);
});

test('a dockerd that another program has started is waited for, and stays', async () => {
  const other = spawn(`${folder}/dockerd`);
  const ended = new Promise((done) => other.once('exit', done));
  await vi.waitFor(async () => expect(await pidIn()).toBe(other.pid));
  expect(await start()).toBeNull();
  expect(said).toEqual(['Another dockerd is starting: waiting for it']);
  const env = { DOCKER_HOST: `unix://${place.socketPath}` };
  const terminal = { say: (line: string) => said.push(line), ask: async () => false };
  for (const one of [{ env }, { env: {}, place }])
    expect(await ensureEngine({ ...terminal, ...one })).toMatchObject({
      host: env.DOCKER_HOST,
      started: false,
    });
  expect(isRunning(Number(other.pid))).toBe(true);
  other.kill();
  await ended;
  await expect(ensureEngine({ ...terminal, env })).rejects.toThrow(
    `No Docker engine answers at DOCKER_HOST=${env.DOCKER_HOST}: `,
  );
});

test('root gets the dockerd that is installed if no engine answers, and everyone else the remedy', async () => {
  vi.stubEnv('PATH', `${folder}:${process.env.PATH}`);
  onTestFinished(() => void vi.unstubAllEnvs());
  const options = { env: {}, place, dataDir: `${folder}/logs`, ask: async () => false };
  const engine = ensureEngine({ ...options, say: (line) => said.push(line) });
  if (process.getuid?.() !== 0) return expect(engine).rejects.toThrow('Start it, or run this as root');
  expect(await engine).toMatchObject({ host: `unix://${place.socketPath}`, started: true });
  const pid = await pidIn();
  await (await engine).stop();
  expect(isRunning(pid)).toBe(false);
});
