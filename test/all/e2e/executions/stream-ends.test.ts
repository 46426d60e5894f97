/**
 * Commands, copies and forwarded ports that others end midway: each ends at once at the command line with the
 * reason, and leaves neither files nor processes behind.
 */
import { mkdirSync, readdirSync, truncateSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { ApiClient } from '../../../support/clients/api-client.ts';
import { CommandLine } from '../../../support/clients/command-line.ts';
import type { Command } from '../../../support/clients/commands/process.ts';
import { application, script } from '../../../support/fixtures/descriptions.ts';
import type { Program } from '../../../support/hosts/process.ts';
import { type Berth, PASSWORD, startBerth } from '../../../support/rigs/berth.ts';
import { eventually } from '../../../support/tools/eventually.ts';
import { scratchFolder } from '../../../support/tools/folder.ts';

const GIB = 2 ** 30;
/** Sessions are reviewed each minute; what ends one must not wait for that. */
const END_MS = 50_000;
/** A busy machine starts a command in seconds. */
const START_MS = 60_000;
/** Sends what it receives, and has a file that no copy gets to the end of in this test. */
const SERVICE = 'mkdir /srv; truncate -s 64G /srv/endless; exec nc -ll -p 7000 -e cat';
const LOST = 'The host has lost its connection: its agent has stopped, or does not reach the control plane.';

let berth: Berth;
let agent: Program;
let home: string;
/** The user whose streams end. */
let alice: CommandLine;
let aliceApi: ApiClient;
let roleId: number;

beforeAll(async () => {
  berth = await startBerth({ deployment: 'e2e-stream-ends', env: { BERTH_LOCAL_AGENT: 'off' } });
  agent = berth.startAgent();
  home = await scratchFolder('berth-home-');
  mkdirSync(join(home, 'target'));
  writeFileSync(join(home, 'large'), '');
  truncateSync(join(home, 'large'), 64 * GIB);
  alice = new CommandLine(home);
  roleId = Number((await post('role', { name: 'streams', can_access_api: true })).role_id);
  const user = await post('user', { username: 'alice', role_id: roleId, quota_id: 1 });
  await post(`user/${user.user_id}`, { password: PASSWORD });
  aliceApi = new ApiClient(berth.url, 'alice', PASSWORD);
  await alice.logIn(berth.url, PASSWORD, 'alice');
  await agent.waitFor(/session\.synced/);
});
afterAll(async () => {
  await berth.api.endAll();
  await berth.close(agent);
  await rm(home, { recursive: true, force: true });
});

async function post(path: string, fields: object): Promise<Record<string, unknown>> {
  const { status, text: body } = await berth.api.http.post(path, fields);
  if (status !== 200) throw new Error(`POST ${path}: ${status} ${body}`);
  return body === '' ? {} : JSON.parse(body);
}

/** The output of a program in the container, by the engine. */
async function inside(id: number, ...words: string[]): Promise<string> {
  const [container] = await berth.containersOf(id);
  const command = await berth.docker
    .getContainer(container?.Id ?? '')
    .exec({ Cmd: words, AttachStdout: true, Tty: true });
  return (await text(await command.start({ Tty: true }))).replaceAll('\r', '');
}

interface Streams {
  id: number;
  exec: Command;
  copyIn: Command;
  copyOut: Command;
  forward: Command;
  socket: Socket;
}

/**
 * A service of alice with a stream of each kind, all under way. Copies that are under way stand still, so
 * that they neither end nor fill a disk.
 */
async function underWay(): Promise<Streams> {
  const id = await aliceApi.submit(application(script(SERVICE)));
  await aliceApi.waitFor(id, 'running', START_MS);
  const begin = (...words: string[]) => {
    const command = alice.start(words);
    onTestFinished(() => command.signal('SIGKILL'));
    return command;
  };
  const forward = begin('forward', String(id), '0:7000');
  const exec = begin('exec', String(id), '--', 'sh', '-c', 'echo up; sleep 4321');
  const copyOut = begin('cp', `${id}:/srv/endless`, join(home, 'target'));
  await eventually(() => expect(readdirSync(join(home, 'target'))).toHaveLength(1), START_MS);
  copyOut.signal('SIGSTOP');
  const copyIn = begin('cp', join(home, 'large'), `${id}:/srv/large`);
  await eventually(
    async () => expect(await inside(id, 'ls', '-A', '/srv')).toContain('.berth-cp-'),
    START_MS,
  );
  copyIn.signal('SIGSTOP');
  const port = await eventually(() => /127\.0\.0\.1:(\d+)/.exec(forward.err())?.[1], START_MS);
  const socket = connect(Number(port), '127.0.0.1');
  let echoed = '';
  socket.on('data', (data) => {
    echoed += data;
  });
  socket.on('error', () => {});
  socket.write('there');
  await eventually(() => expect([exec.out(), echoed]).toEqual(['up\n', 'there']), START_MS);
  return { id, exec, copyIn, copyOut, forward, socket };
}

/** Each ends with the reason and leaves nothing on this machine. */
async function endWith({ exec, copyIn, copyOut, forward, socket }: Streams, reason: string): Promise<void> {
  const began = performance.now();
  for (const command of [copyIn, copyOut]) command.signal('SIGCONT');
  const ends = await Promise.all([exec, copyIn, copyOut].map(({ ended }) => ended));
  expect(ends.map(({ code, err }) => [code, err])).toEqual(
    ['exec', 'cp in', 'cp out'].map(() => [125, expect.stringContaining(reason)]),
  );
  await eventually(() => socket.closed, END_MS);
  await eventually(() => expect(forward.err()).toContain(reason));
  forward.interrupt();
  expect((await forward.ended).code).toBe(130);
  expect(performance.now() - began).toBeLessThan(END_MS);
  expect(readdirSync(join(home, 'target'))).toEqual([]);
}

/** The service runs on with what was there before. */
async function assertClean(id: number): Promise<void> {
  await eventually(async () => expect(await inside(id, 'ls', '-A', '/srv')).toBe('endless\n'), END_MS);
  const left = /sleep 4321|tar |berth-cp/;
  await eventually(async () => expect(await inside(id, 'ps', '-o', 'args')).not.toMatch(left), END_MS);
}

test('L180: when the right to streams is taken from a role, what its users have under way ends with that reason', async () => {
  const streams = await underWay();
  await post(`role/${roleId}`, { can_exec: false });
  onTestFinished(async () => void (await post(`role/${roleId}`, { can_exec: true })));
  await endWith(streams, 'The role streams lacks "Run commands in services" (can_exec).');
  await assertClean(streams.id);
  await aliceApi.terminate(streams.id);
});

test('L180, P260: when the agent is killed, streams end with that reason, and the next agent ends what is left', async () => {
  const streams = await underWay();
  await agent.kill();
  await endWith(streams, LOST);
  agent = berth.startAgent();
  await agent.waitFor(/session\.synced/);
  await assertClean(streams.id);
  await aliceApi.terminate(streams.id);
});
