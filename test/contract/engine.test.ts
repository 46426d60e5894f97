/** The Engine port on a real Docker engine. */
import { once } from 'node:events';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import type Docker from 'dockerode';
import { afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { DockerEngine } from '../../agent/docker/docker-engine.ts';
import type { Container, Engine, EngineError } from '../../agent/engine.ts';
import { connectEngine, DEFAULT_SOCKET, socketOf, unixHost } from '../../agent/engine-address.ts';
import type { Assignment } from '../../shared/protocol/assignment.ts';
import { scratchDir } from '../support/agent-rig.ts';
import { assignment as plain } from '../support/assignments.ts';
import { testEngine } from '../support/engine.ts';
import { eventually } from '../support/eventually.ts';

const deployment = `contract${process.pid}`;
const network = `berth-${deployment}`;
const host = process.env.DOCKER_HOST || unixHost(DEFAULT_SOCKET);
const noWait = new AbortController().signal;
let docker: Docker;
let engine: DockerEngine;
let scratch: Awaited<ReturnType<typeof scratchDir>>;

/** Names are unique to this run, so that it disturbs nobody. */
const assignment = (changes: Partial<Assignment> = {}): Assignment =>
  plain({ name: `web${changes.service ?? 1}-${deployment}`, ...changes });

function makeEngine(
  changes: { volumeRoots?: string[]; workspaceRoot?: string; networks?: string[]; stallMs?: number } = {},
): DockerEngine {
  const { volumeRoots = [], workspaceRoot = null, networks = [], stallMs = 10_000 } = changes;
  return new DockerEngine(docker, connectEngine(host), {
    deployment,
    host: 'node1',
    local: socketOf(host) !== undefined,
    reserveBytes: 0,
    volumeRoots,
    workspaceRoot,
    networks,
    pull: { authFile: '/nowhere', stallMs, progressEveryMs: 0, retryMs: 1, nowMs: Date.now },
  });
}

async function run(changes: Partial<Assignment> = {}, on: Engine = engine): Promise<Container> {
  const wanted = assignment(changes);
  return on.start(wanted, (await on.create(wanted)).id);
}

async function exitOf(id: string): Promise<Extract<Container, { state: 'exited' }>> {
  await docker.getContainer(id).wait();
  const seen = await engine.inspect(id);
  if (seen?.state !== 'exited') throw new Error(`the container is ${seen?.state}`);
  return seen;
}

const errorOf = (call: Promise<unknown>): Promise<EngineError> =>
  call.then(
    () => Promise.reject('no error'),
    (e) => e,
  );

beforeAll(async () => {
  docker = await testEngine();
});

beforeEach(async () => {
  scratch = await scratchDir();
  engine = makeEngine();
  await engine.facts();
});

afterEach(async () => {
  for (const { id } of await engine.list()) await engine.remove(id);
  await engine.tidy();
  await scratch.remove();
});

describe('a container', () => {
  test('goes from created to running, with its address', async () => {
    const wanted = assignment();
    const created = await engine.create(wanted);
    expect(created.state).toBe('created');
    expect(await engine.start(wanted, created.id)).toMatchObject({
      state: 'running',
      service: 1,
      generation: 1,
      ipAddress: expect.stringMatching(/^\d+\.\d+\.\d+\.\d+$/),
    });
  });
  test('P5: created again by the same key is the same one', async () => {
    const first = await engine.create(assignment());
    expect((await engine.create(assignment())).id).toBe(first.id);
  });
  test('P5: whose name another key holds is not created for now', async () => {
    await engine.create(assignment());
    expect(await errorOf(engine.create(assignment({ generation: 2 })))).toMatchObject({ kind: 'temporary' });
  });
  test('that is started twice is running', async () => {
    const { id } = await run();
    expect(await engine.start(assignment(), id)).toMatchObject({ state: 'running' });
  });
  test('ends with the exit code of its process', async () => {
    const { id } = await run({ command: ['sh', '-c', 'exit 7'] });
    expect(await exitOf(id)).toMatchObject({ exitCode: 7, outOfMemory: false });
  });
  test('that takes too much memory ends out of memory, unless the engine loses that', async () => {
    const { ended, close } = await engine.watch(() => {});
    const command = ['sh', '-c', 'x=a; while true; do x=$x$x; done'];
    const limited = { memoryMaxBytes: 16 * 2 ** 20, command };
    const told = await Promise.all(
      [1, 2, 3, 4, 5].map(async (service) => exitOf((await run({ service, ...limited })).id)),
    );
    close();
    await ended;
    expect(told.map(({ exitCode }) => exitCode)).toEqual([137, 137, 137, 137, 137]);
    expect(told.some(({ outOfMemory }) => outOfMemory)).toBe(true);
  });
  test('is stopped by SIGTERM', async () => {
    const { id } = await run({ command: ['sh', '-c', 'trap "exit 5" TERM; while true; do sleep 0.1; done'] });
    await engine.stop(id);
    expect(await engine.inspect(id)).toMatchObject({ state: 'exited', exitCode: 5 });
  });
  test('that has ended is stopped already', async () => {
    const { id } = await run({ command: ['true'] });
    await exitOf(id);
    await engine.stop(id);
  });
  test('that is not there is stopped, removed and not seen', async () => {
    await engine.stop('f'.repeat(64));
    await engine.remove('f'.repeat(64));
    expect(await engine.inspect('f'.repeat(64))).toBeUndefined();
  });
  test('P6: of another deployment is not listed and not seen', async () => {
    const foreign = await docker.createContainer({
      Image: 'berth/busybox:1',
      Cmd: ['true'],
      Labels: { 'berth.service': '1' },
    });
    try {
      expect(await engine.list()).toEqual([]);
      expect(await engine.inspect(foreign.id)).toBeUndefined();
    } finally {
      await foreign.remove();
    }
  });
});

describe('changes', () => {
  test('an exit and a removal by hand are told', async () => {
    const changed: string[] = [];
    const watch = await engine.watch((id) => changed.push(id));
    const { id } = await run({ command: ['true'] });
    await eventually(() => changed.length === 1);
    await docker.getContainer(id).remove();
    await eventually(() => changed.length === 2);
    watch.close();
    await watch.ended;
    expect(changed).toEqual([id, id]);
  });
});

describe('failures', () => {
  test('a missing image is told apart', async () => {
    const error = await errorOf(engine.create(assignment({ image: 'berth/none:1' })));
    expect(error).toMatchObject({ kind: 'image-missing', message: 'No such image: berth/none:1' });
  });
  test('a bad image name fails for good', async () => {
    expect(await errorOf(engine.create(assignment({ image: 'Bad::Name' })))).toMatchObject({
      kind: 'permanent',
    });
  });
  test('a bad command is told apart from a command that fails, in the words of the init process', async () => {
    const { id } = await run({ command: ['nosuch'] });
    expect(await exitOf(id)).toMatchObject({
      exitCode: 127,
      startError: 'exec nosuch failed: No such file or directory',
    });
  });
  test('a command that fails by itself with the same code is no bad command', async () => {
    const { id } = await run({ command: ['sh', '-c', 'exit 127'] });
    expect(await exitOf(id)).not.toHaveProperty('startError');
  });
  test('a bad working folder fails for good in the words of the engine', async () => {
    expect(await errorOf(run({ workDir: '/etc/passwd' }))).toMatchObject({
      kind: 'permanent',
      message: expect.stringContaining('not a directory'),
    });
  });
  test('an allowed network that is not there fails for good', async () => {
    const on = makeEngine({ networks: ['nosuch'] });
    expect(await errorOf(run({ network: 'nosuch' }, on))).toMatchObject({
      kind: 'permanent',
      message: 'network nosuch not found',
    });
  });
  test('a limit the engine refuses fails for good', async () => {
    expect(await errorOf(run({ memoryMaxBytes: 1000 }))).toMatchObject({ kind: 'permanent' });
  });
  test('a registry that can not be reached fails for good, after a second try', async () => {
    const error = await errorOf(engine.pull('127.0.0.1:9/none:1', () => {}, noWait));
    expect(error).toMatchObject({
      kind: 'permanent',
      message: expect.stringContaining('connection refused'),
    });
  });
  test('a pull that stands still is given up for now', async () => {
    const silent = createServer(() => {}).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { port } = silent.address() as { port: number };
    const error = await errorOf(
      makeEngine({ stallMs: 300 }).pull(`127.0.0.1:${port}/none:1`, () => {}, noWait),
    );
    silent.close();
    expect(error).toMatchObject({ kind: 'temporary', message: expect.stringContaining('no progress') });
  });
  test('an engine that is not there is unreachable', async () => {
    const nowhere = connectEngine('unix:///nowhere/docker.sock');
    const lost = new DockerEngine(nowhere, nowhere, {
      deployment,
      host: 'node1',
      local: true,
      reserveBytes: 0,
      volumeRoots: [],
      workspaceRoot: null,
      networks: [],
      pull: { authFile: '', stallMs: 1, progressEveryMs: 1, retryMs: 1, nowMs: Date.now },
    });
    expect(await errorOf(lost.list())).toMatchObject({ kind: 'unreachable' });
  });
});

describe('the contract as the engine sees it', () => {
  test('limits, labels and isolation', async () => {
    const { id } = await run({
      memoryMinBytes: 8e6,
      memoryMaxBytes: 64 * 2 ** 20,
      coresMin: 0.5,
      coresMax: 1,
    });
    const { HostConfig, Config } = await docker.getContainer(id).inspect();
    expect(HostConfig).toMatchObject({
      Memory: 64 * 2 ** 20,
      MemoryReservation: 8e6,
      CpuShares: 512,
      NanoCpus: 1e9,
      PidsLimit: 4096,
      SecurityOpt: ['no-new-privileges'],
      Privileged: false,
      Init: true,
    });
    expect(Config).toMatchObject({ Hostname: assignment().name, Labels: { 'berth.deployment': deployment } });
  });
  test('an init process is the first of the container', async () => {
    const { id } = await run({ command: ['sh', '-c', 'cat /proc/1/comm; sleep 100'] });
    await eventually(async () =>
      (await docker.getContainer(id).logs({ stdout: true })).includes('docker-init'),
    );
  });
  test('a published port is reached on the host', async () => {
    const command = ['sh', '-c', 'echo hello > /tmp/index.html; httpd -f -p 80 -h /tmp'];
    const container = await run({ command, ports: [{ port: 80, protocol: 'tcp' }] });
    if (container.state !== 'running') throw new Error(`it is ${container.state}`);
    expect(container.ports).toEqual([{ port: 80, protocol: 'tcp', hostPort: expect.any(Number) }]);
    const url = `http://127.0.0.1:${container.ports[0]?.hostPort}/`;
    expect(await eventually(async () => (await fetch(url)).text())).toBe('hello\n');
  });
  test('containers of the deployment reach each other by name', async () => {
    await run({ service: 2 });
    const { id } = await run({ command: ['ping', '-c', '1', assignment({ service: 2 }).name] });
    expect(await exitOf(id)).toMatchObject({ exitCode: 0 });
  });
  test('a volume beneath an allowed root is mounted, read-only where asked', async () => {
    await writeFile(`${scratch.path}/file`, 'data');
    const on = makeEngine({ volumeRoots: [scratch.path] });
    const volumes = [{ name: 'in', path: scratch.path, readOnly: true }];
    const command = ['sh', '-c', 'test "$(cat /mnt/in/file)" = data && ! touch /mnt/in/new'];
    const { id } = await run({ volumes, command }, on);
    expect(await exitOf(id)).toMatchObject({ exitCode: 0 });
  });
  test('a network the settings do not name is refused for good, the host network too', async () => {
    for (const network of ['host', 'bridge']) {
      const refused = errorOf(makeEngine({ networks: ['overlay1'] }).create(assignment({ network })));
      expect(await refused).toMatchObject({
        kind: 'permanent',
        message: `network not allowed on this host: ${network}`,
      });
    }
  });
  test('a network the settings name is joined', async () => {
    const network = `other-${deployment}`;
    const made = await docker.createNetwork({ Name: network });
    onTestFinished(() => made.remove());
    const { id } = await run({ network, command: ['true'] }, makeEngine({ networks: [network] }));
    expect((await docker.getContainer(id).inspect()).HostConfig.NetworkMode).toBe(network);
    await engine.remove(id);
  });
  test('a volume that leaves its root by a symbolic link is refused for good', async () => {
    await mkdir(`${scratch.path}/root`);
    await symlink('/etc', `${scratch.path}/root/link`);
    const on = makeEngine({ volumeRoots: [`${scratch.path}/root`] });
    const volumes = [{ name: 'in', path: `${scratch.path}/root/link`, readOnly: true }];
    expect(await errorOf(on.create(assignment({ volumes })))).toMatchObject({
      kind: 'permanent',
      message: expect.stringContaining('path not allowed'),
    });
  });
  test('the workspace of the owner is mounted where it exists', async () => {
    await mkdir(`${scratch.path}/alice`);
    const { id } = await run(
      { command: ['touch', '/workspace/new'] },
      makeEngine({ workspaceRoot: scratch.path }),
    );
    expect(await exitOf(id)).toMatchObject({ exitCode: 0 });
  });
  test('an owner whose name is a path has no workspace', async () => {
    const on = makeEngine({ workspaceRoot: `${scratch.path}` });
    const { id } = await on.create(assignment({ owner: '../etc' }));
    expect((await docker.getContainer(id).inspect()).Mounts).toEqual([]);
  });
});

describe('the network', () => {
  const networks = () => docker.listNetworks({ filters: { name: [network] } });

  test('is made once, by however many who race for it', async () => {
    const racers = [makeEngine(), makeEngine(), makeEngine()];
    await Promise.all(racers.map((racer, i) => racer.create(assignment({ service: i + 1 }))));
    expect(await networks()).toHaveLength(1);
  });
  test('P6: carries the label of the deployment', async () => {
    await engine.create(assignment());
    expect((await networks())[0]?.Labels).toEqual({ 'berth.deployment': deployment });
  });
  test('that vanished is made again', async () => {
    await engine.create(assignment());
    await engine.remove(assignment().name);
    await docker.getNetwork(network).remove();
    expect(await run()).toMatchObject({ state: 'running' });
  });
  test('is removed when nothing uses it', async () => {
    const { id } = await run();
    await engine.tidy();
    expect(await networks()).toHaveLength(1);
    await engine.remove(id);
    await engine.tidy();
    expect(await networks()).toHaveLength(0);
  });
});
