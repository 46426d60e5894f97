/** Commands in containers, by what the engine and the runtime report of them. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { expect, test } from 'vitest';
import { BegunCommands } from '../../../../../agent/engine/streams/begun-commands.ts';
import { containerTargets, mountsFolders } from '../../../../../agent/engine/streams/container-targets.ts';
import { startExec, startFailure, withStartFailure } from '../../../../../agent/engine/streams/exec.ts';
import { splitOutput } from '../../../../../agent/engine/streams/exec-output.ts';
import { type Mounted, markedIn } from '../../../../../agent/engine/streams/mount-points.ts';
import type { Piece } from '../../../../../agent/engine/streams/target.ts';
import type { Logger } from '../../../../../agent/logger.ts';
import type { Exec } from '../../../../../shared/streams/targets.ts';
import { Refusal, scriptedEngine } from '../../../../support/engines/scripted-engine.ts';
import { outputOf } from '../../../../support/fixtures/targets.ts';
import { eventually } from '../../../../support/tools/eventually.ts';
import { testFolder } from '../../../../support/tools/test-folder.ts';

const ID = 'e'.repeat(64);
const gone = spawnSync('true').pid;

async function* chunksOf(...chunks: (string | number[])[]): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks) yield Buffer.from(chunk as string);
}
async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

/** A command whose state the test has. `failing` lets calls fail. */
async function command(rest: Partial<Exec> = {}, pid = process.pid, isRefused = false) {
  const seen = { Running: true, ExitCode: null as number | null, Pid: 0, looks: 0, next: [] as object[] };
  const failing = { call: /^$/, status: 0, times: 0 };
  const bodies: unknown[] = [];
  const sizes: (string | null)[] = [];
  const begun = await testFolder();
  const peers: Duplex[] = [];
  const { docker } = await scriptedEngine(
    ({ call, body, query }) => {
      if (call.endsWith('/resize')) sizes.push(`${query.get('w')}x${query.get('h')}`);
      if (failing.call.test(call) && failing.times-- > 0) throw new Refusal(failing.status, 'refused');
      if (body) bodies.push(body);
      if (call.endsWith('/json')) Object.assign(seen, seen.next.shift(), { looks: seen.looks + 1 });
      return call.endsWith('/exec') ? { Id: ID } : seen;
    },
    isRefused ? undefined : (socket) => peers.push(socket.resume()),
  );
  const exec: Exec = { kind: 'exec', words: ['sh', '-c', 'x'], ...rest };
  const start = () => startExec(docker, { id: 'c1', pid }, exec, new BegunCommands(begun));
  return { start, seen, failing, bodies, sizes, peers, recorded: () => readdirSync(begun) };
}
const exited = { Running: false, ExitCode: 3 };

test('P254, P260: a command has the words, terminal and user of its stream, and is recorded until it has ended', async () => {
  const attached = { AttachStdin: true, AttachStdout: true, AttachStderr: true, Cmd: ['sh', '-c', 'x'] };
  const plain = await command();
  const target = await plain.start();
  expect(plain.bodies).toEqual([{ ...attached, Tty: false }]);
  expect(plain.recorded()).toEqual([ID]);
  const peer = (await eventually(() => plain.peers[0])) as Duplex;
  const input = new Promise((resolve) => peer.once('data', (bytes) => resolve(String(bytes))));
  await target.write(Buffer.from('in'));
  expect(await input).toBe('in');
  target.end();
  peer.end(Buffer.from([1, 0, 0, 0, 0, 0, 0, 3, 111, 117, 116]));
  expect(await all(target.output)).toEqual([{ source: 1, bytes: Buffer.from('out') }]);
  plain.seen.next = [{}, { Running: false }, exited];
  expect(await target.exitCode()).toBe(3);
  expect(plain.seen.looks).toBe(3);
  expect(plain.recorded()).toEqual([]);
  const { looks } = plain.seen;
  target.destroy();
  const terminal = await command({ terminal: { columns: 80, rows: 24 }, user: 'u' });
  await terminal.start();
  expect(terminal.bodies).toEqual([{ ...attached, Tty: true, User: 'u' }]);
  const refused = await command({}, gone, true);
  Object.assign(refused.failing, { call: /start$/, status: 409, times: 1 });
  await expect(refused.start()).rejects.toThrow('refused');
  expect(refused.recorded()).toEqual([]);
  expect(plain.seen.looks).toBe(looks);
});

test('P257: a command that was killed with its container has ended with it, and no other one', async () => {
  for (const [ExitCode, pid, outcome] of [
    [3, gone, 'the service has ended'],
    [137, gone, 'the service has ended'],
    [137, process.pid, 137],
    [3, process.pid, 3],
  ] as const) {
    const { start, seen } = await command({}, pid);
    const target = await start();
    Object.assign(seen, { Running: false, ExitCode });
    expect(await target.exitCode().catch((error) => error.message)).toBe(outcome);
  }
  for (const [status, pid, message] of [
    [404, gone, 'the service has ended'],
    [404, process.pid, 'refused'],
    [500, gone, 'refused'],
  ] as const) {
    const { start, failing } = await command({}, pid);
    const target = await start();
    Object.assign(failing, { call: /json$/, status, times: 99 });
    await expect(target.exitCode()).rejects.toThrow(message);
  }
});

test('P255: a terminal gets its size once the command runs, and of those that come meanwhile the latest', async () => {
  const { start, failing, sizes, seen } = await command({ terminal: { columns: 1, rows: 2 } });
  Object.assign(failing, { call: /resize$/, status: 409, times: 2 });
  const target = await start();
  await eventually(() => expect(sizes).toEqual(['1x2', '1x2', '1x2']));
  target.resize({ columns: 3, rows: 4 });
  await eventually(() => expect(sizes).toHaveLength(4));
  for (const columns of [5, 6]) target.resize({ columns, rows: 4 });
  await eventually(() => expect(sizes.at(-1)).toBe('6x4'));
  expect(sizes.slice(3)).toEqual(['3x4', '6x4']);
  target.resize({ columns: 7, rows: 7 });
  await eventually(() => expect(sizes.at(-1)).toBe('7x7'));
  Object.assign(failing, { times: 1e9 });
  target.resize({ columns: 8, rows: 8 });
  Object.assign(seen, exited);
  await target.exitCode();
  const last = sizes.length;
  await new Promise((resolve) => setTimeout(resolve, 60));
  expect(sizes.length).toBeLessThan(last + 2);
});

test('P256, P260: a command that is given up before it has a process is recorded until it has ended', async () => {
  const { start, seen, recorded, peers } = await command();
  const target = await start();
  const peer = (await eventually(() => peers[0])) as Duplex;
  const closed = new Promise((resolve) => peer.once('end', resolve));
  target.destroy();
  await closed;
  await eventually(() => expect(seen.looks).toBeGreaterThan(2));
  expect(recorded()).toEqual([ID]);
  Object.assign(seen, { Pid: 2 ** 22 + 1 });
  await eventually(() => expect(recorded()).toEqual([]));
});

test('P260: what an earlier agent has left is ended or forgotten, and kept for the next one if the engine fails', async () => {
  const path = await testFolder();
  const of = (digit: string) => digit.repeat(64);
  const commands: Record<string, unknown> = {
    [of('1')]: { Running: false, Pid: 7, ContainerID: 'c1' },
    [of('2')]: { Running: true, Pid: 0, ContainerID: 'c1' },
    [of('3')]: { Running: true, Pid: 2 ** 22 + 1, ContainerID: 'c1' },
    [of('4')]: { Running: true, Pid: 2 ** 22 + 1, ContainerID: 'over' },
    [of('5')]: { Running: true, Pid: 2 ** 22 + 1, ContainerID: 'foreign' },
  };
  const { docker } = await scriptedEngine(({ call }) => {
    const [, kind, key = ''] = call.split('/');
    if (key === of('7')) throw new Refusal(500, 'later');
    if (kind === 'exec') return commands[key];
    return { Id: key, State: { Running: key !== 'over', Pid: process.pid } };
  });
  mkdirSync(join(path, 'x'));
  const begun = new BegunCommands(path);
  for (const digit of '1234567') begun.begin(of(digit));
  writeFileSync(join(path, 'other'), '');
  const lines: string[] = [];
  const log: Logger = (_, { exec, container, reason } = {}) => lines.push(`${exec} ${container ?? reason}`);
  await begun.endLeft(docker, ({ Id }) => Id !== 'foreign', log);
  expect(lines.sort()).toEqual([`${of('3')} c1`, expect.stringMatching(/^7{64} .*later/)]);
  expect(readdirSync(path)).toEqual([of('7'), 'other', 'x']);
  await new BegunCommands(join(path, 'none')).endLeft(docker, () => true, log);
  writeFileSync(join(path, 'file'), '');
  expect(() => new BegunCommands(join(path, 'file')).begin(ID)).toThrow("can't record the command");
});

test('P6, P259: a stream reaches only running containers of this host, on an engine of this machine', async () => {
  const labels = { 'berth.deployment': 'd', 'berth.host': 'node1' };
  const info = (Labels: object | null, Running = true) => ({
    Config: { Labels },
    State: { Running, Pid: process.pid },
  });
  const containers: Record<string, unknown> = {
    own: info(labels),
    over: info(labels, false),
    bare: info(null),
    deployment: info({ ...labels, 'berth.deployment': 'e' }),
    host: info({ ...labels, 'berth.host': 'node2' }),
  };
  const { docker } = await scriptedEngine(({ call }) => {
    const key = call.split('/')[2] ?? '';
    if (key === 'broken') throw new Refusal(500, 'no answer');
    return containers[key];
  });
  const options = { deployment: 'd', host: 'node1', local: true, secretsDir: null };
  const exec: Exec = { kind: 'exec', words: ['true'] };
  type Wanted = Parameters<ReturnType<typeof containerTargets>>[1];
  const problem = async (id: string, target: Wanted = exec, local = true) =>
    containerTargets(docker, { ...options, local })({ id, ipAddress: '' }, target).then(
      () => 'connected',
      ({ message }) => message,
    );
  for (const id of ['over', 'bare', 'deployment', 'host', 'none'])
    expect([id, await problem(id)]).toEqual([id, 'the service is not running']);
  expect(await problem('own')).toMatch(/^this host runs no commands in services: the agent doesn't see/);
  expect(await problem('broken')).toBe('no answer');
  expect(await problem('own', { kind: 'tcp', port: 1 })).toBe('the container has no address of its own');
  const head = { method: 'GET', path: '/', headers: [] };
  const [http, websocket] = [
    { kind: 'http', port: 1, head, client: 1 },
    { kind: 'websocket', port: 1, head },
  ] as const;
  for (const target of [http, websocket]) expect(await problem('own', target)).toBe('connected');
  for (const target of [{ kind: 'tcp', port: 1 }, http, websocket, exec] as const)
    expect(await problem('own', target, false)).toContain('on another machine');
});

test('P258: folders of the host are all mounts but the files with secrets', () => {
  const bind = { Type: 'bind', Source: '/run/berth/1.1/0' };
  for (const [Mounts, secretsDir, expected] of [
    [undefined, null, false],
    [[], '/run/berth', false],
    [[bind], '/run/berth', false],
    [[bind], null, true],
    [[bind, { Type: 'bind', Source: '/run/berth2/x' }], '/run/berth', true],
    [[{ ...bind, Type: 'volume' }], '/run/berth', true],
  ] as const)
    expect(mountsFolders({ HostConfig: { Mounts } } as never, { secretsDir })).toBe(expected);
});

test('P254: output is split by the records of the engine, wherever chunks divide them', async () => {
  const bytes = [0, 0, 0, 0, 0, 0, 0, 1, 97, 2, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 3, 98, 99, 100];
  for (const size of [1, 2, 5, 9, 100]) {
    const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
      bytes.slice(at * size, at * size + size),
    );
    const pieces = await all(splitOutput(chunksOf(...chunks)));
    const shown = pieces.map((piece) => `${piece.source}${Buffer.from(piece.bytes)}`).join('');
    expect(shown.replace(/(?<=[a-z])1/g, '')).toBe('1abcd');
  }
  const [error] = await all(splitOutput(chunksOf([2, 0, 0, 0, 0, 0, 1, 0, ...Array<number>(256).fill(65)])));
  expect([error?.source, error?.bytes.length]).toEqual([2, 256]);
  for (const head of ['3000', '1100', '1001', '1010'])
    await expect(all(splitOutput(chunksOf([...head, 0, 0, 0, 0].map(Number))))).rejects.toThrow('unreadable');
});

test('L232: the words of the runtime are replaced only at the beginning, and only if nothing has run', async () => {
  const WORDS = 'OCI runtime exec failed: exec: "x": permission denied';
  const outcome = async (ran: boolean, source: number | undefined, ...texts: string[]) => {
    const failures: number[] = [];
    const pieces = texts.map((text): Piece => ({ bytes: Buffer.from(text), ...(source && { source }) }));
    const output = withStartFailure(outputOf(pieces), 'x', {
      hasRun: async () => ran,
      failed: ({ exitCode }) => failures.push(exitCode),
    });
    const shown = (await all(output)).map((piece) => `${piece.source ?? ''}${Buffer.from(piece.bytes)}`);
    return [...shown, ...failures];
  };
  const plain = 'x: this may not be run as a program';
  expect(await outcome(false, 1, WORDS)).toEqual([`2${plain}\n`, 126]);
  expect(await outcome(false, undefined, WORDS)).toEqual([`${plain}\r\n`, 126]);
  expect(await outcome(false, 1, WORDS.slice(0, 30), WORDS.slice(30))).toEqual([`2${plain}\n`, 126]);
  expect(await outcome(true, 1, WORDS)).toEqual([`1${WORDS}`]);
  expect(await outcome(false, 1, 'a', WORDS)).toEqual(['1a', `1${WORDS}`]);
  expect(await outcome(false, 1, `OCI runtime exec failed: ${'y'.repeat(4_096)}`, WORDS)).toEqual([
    `2x: cannot be started: ${'y'.repeat(4_071)}\n`,
    126,
  ]);
});

test('L232: the engine says whether a command has run, whatever its output says', async () => {
  const words = 'OCI runtime exec failed: exec: "sh": permission denied';
  for (const [Pid, shown] of [
    [0, 'sh: this may not be run as a program\n'],
    [7, words],
  ] as const) {
    const ended = await command();
    const target = await ended.start();
    ended.seen.next = [{ Running: false, ExitCode: 126, Pid }];
    const peer = (await eventually(() => ended.peers[0])) as Duplex;
    peer.end(Buffer.from([1, 0, 0, 0, 0, 0, 0, words.length, ...Buffer.from(words)]));
    expect((await all(target.output)).map(({ bytes }) => String(Buffer.from(bytes)))).toEqual([shown]);
  }
});

test('P270: copies cross the own volumes of a container and the files of its engine, and no other mount', () => {
  const line = (point: string, root: string, type: string, more = '') =>
    `1 2 0:3 ${root} ${point} rw,relatime ${more}- ${type} src rw`;
  const mounts = [
    line('/', '/', 'overlay'),
    line('/own', '/docker/volumes/v1/_data', 'ext4', 'shared:1 master:2 '),
    line('/given', '/docker/volumes/v2/_data', 'ext4'),
    line('/bind', '/data', 'ext4'),
    line('/etc/hosts', '/docker/containers/c1/hosts', 'ext4'),
    line('/etc/passwd', '/docker/containers/c2/hosts', 'ext4'),
    line('/dev/shm', '/', 'tmpfs', 'shared:1 '),
    line('/dev/shm', '/sub', 'tmpfs'),
    line('/dev/shm', '/', 'ext4'),
    line('/shm', '/', 'tmpfs'),
    line('/a\\040b\\303\\251', '/docker/volumes/v\\0403/_data', 'ext4'),
  ];
  const volume = (Name: string, Destination: string) => ({ Type: 'volume', Name, Destination });
  const info = {
    Id: 'c1',
    Mounts: [
      volume('v1', '/own'),
      volume('v2', '/given'),
      { ...volume('data', '/bind'), Type: 'bind' },
      volume('v 3', '/a b'),
      volume('', '/x'),
    ],
    HostConfig: { Mounts: [{ Target: '/given' }] },
  } as unknown as Mounted;
  expect(markedIn(`${mounts.join('\n')}\n`, info)).toEqual([
    ...['+/own', '-/given', '-/bind', '+/etc/hosts', '-/etc/passwd'],
    ...['+/dev/shm', '-/dev/shm', '-/dev/shm', '-/shm', '+/a b\u00e9'],
  ]);
  expect(markedIn(line('/own', '/volumes/v1/_data', 'ext4'), { ...info, HostConfig: {} })).toEqual(['+/own']);
});

const BEGINNING = 'OCI runtime exec failed: exec failed: unable to start container process: ';

const MISSING = 'x: there is no such program in the container';

test.each([
  ['exec: "x": executable file not found in $PATH: unknown', 127, MISSING],
  ['exec: "x": stat x: no such file or directory: unknown', 127, MISSING],
  ['exec: "x": permission denied: unknown', 126, 'x: this may not be run as a program'],
  [
    'chdir to cwd ("/gone") set in config.json failed: no such file or directory: unknown\r\n',
    126,
    'x: cannot be started: exec failed: unable to start container process: chdir to cwd ("/gone") set in ' +
      'config.json failed: no such file or directory: unknown',
  ],
])('L232: %j of the runtime means %i', (words, exitCode, text) => {
  expect(startFailure('x', BEGINNING + words)).toEqual({ exitCode, text });
});
