/** The Engine port on a real Docker engine: containers, their changes and failures. */
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, expect, onTestFinished, test } from 'vitest';
import { EngineError } from '../../../agent/engine/engine.ts';
import { connectEngine } from '../../../agent/engine/engine-address.ts';
import { CPU_LIMIT, dockerRig, errorOf } from '../../support/engines/docker-rig.ts';
import { eventually } from '../../support/tools/eventually.ts';

const { docker, deployment, engine, makeEngine, assignment, run, exitOf } = dockerRig('engine');
const noWait = new AbortController().signal;

describe('a container', () => {
  test('a container goes from created to running, with its address', async () => {
    const wanted = assignment();
    const created = await engine().create(wanted, CPU_LIMIT);
    expect(created.state).toBe('created');
    expect(await engine().start(wanted, created.id, CPU_LIMIT, true)).toMatchObject({
      state: 'running',
      service: 1,
      generation: 1,
      ipAddress: expect.stringMatching(/^\d+\.\d+\.\d+\.\d+$/),
    });
  });
  test('P143: a container carries the proof of its ids, and returns it in each state', async () => {
    const wanted = assignment({ idProof: 'proof_of-ids' });
    const created = await engine().create(wanted, CPU_LIMIT);
    expect(created).toMatchObject({ execution: wanted.execution, idProof: 'proof_of-ids' });
    const running = await engine().start(wanted, created.id, CPU_LIMIT, true);
    expect(running).toMatchObject({ idProof: 'proof_of-ids' });
  });
  test('P5: a container that is created again by the same key is the same container', async () => {
    const first = await engine().create(assignment(), CPU_LIMIT);
    expect((await engine().create(assignment(), CPU_LIMIT)).id).toBe(first.id);
  });
  test('P5: a container whose name another key has is not created for now', async () => {
    await engine().create(assignment(), CPU_LIMIT);
    expect(await errorOf(engine().create(assignment({ generation: 2 }), CPU_LIMIT))).toMatchObject({
      kind: 'temporary',
    });
  });
  test('C172: a container whose name a foreign container has is not created for now, and the foreign one stays', async () => {
    const { name, image } = assignment();
    const other = await docker.createContainer({ name, Image: image, Cmd: ['true'] });
    onTestFinished(() => other.remove());
    expect(await errorOf(engine().create(assignment(), CPU_LIMIT))).toMatchObject({
      kind: 'temporary',
      message: expect.stringContaining(name),
    });
    expect((await other.inspect()).Id).toBe(other.id);
  });
  test('a container that is started twice is running', async () => {
    const { id } = await run();
    expect(await engine().start(assignment(), id, CPU_LIMIT, true)).toMatchObject({ state: 'running' });
  });
  test('a container ends with the exit code of its process', async () => {
    const { id } = await run({ command: ['sh', '-c', 'exit 7'] });
    expect(await exitOf(id)).toMatchObject({ exitCode: 7, outOfMemory: false });
  });
  test('P326: a container that is killed through the engine, or ends like one that was killed, had no lack of memory', async () => {
    const watch = await engine().watch(() => {});
    onTestFinished(() => watch.close());
    const { id } = await run({ command: ['sleep', '1000'] });
    await docker.getContainer(id).kill();
    expect(await exitOf(id)).toMatchObject({ exitCode: 137, outOfMemory: false, memoryKill: 'none' });
    const { id: other } = await run({ service: 2, command: ['sh', '-c', 'exit 137'] });
    expect(await exitOf(other)).toMatchObject({ exitCode: 137, outOfMemory: false });
  });
  test('P326: a container that ends after another of its processes was killed for lack of memory has not ended by it', async () => {
    const watch = await engine().watch(() => {});
    onTestFinished(() => watch.close());
    const hog = 'sh -c "x=a; while true; do x=\\$x\\$x; done"; exit 1';
    const { id } = await run({ command: ['sh', '-c', hog], memoryMaxBytes: 16 * 2 ** 20 });
    expect(await exitOf(id)).toMatchObject({ exitCode: 1, outOfMemory: false });
  });
  test('P326: a paused container is reported as paused, and one that runs again is not', async () => {
    const changed: string[] = [];
    const watch = await engine().watch((id) => changed.push(id));
    onTestFinished(() => watch.close());
    const { id } = await run({ command: ['sleep', '1000'] });
    await docker.getContainer(id).pause();
    await eventually(async () => changed.length === 1);
    expect(await engine().inspect(id)).toMatchObject({ state: 'running', paused: true });
    expect(await engine().list()).toMatchObject([{ id, state: 'running', paused: true }]);
    await docker.getContainer(id).unpause();
    await eventually(async () => changed.length === 2);
    expect(await engine().inspect(id)).not.toHaveProperty('paused');
    expect((await engine().list())[0]).not.toHaveProperty('paused');
  });
  test('a container is stopped by SIGTERM', async () => {
    const { id } = await run({ command: ['sh', '-c', 'trap "exit 5" TERM; while true; do sleep 0.1; done'] });
    await engine().stop(id);
    expect(await engine().inspect(id)).toMatchObject({ state: 'exited', exitCode: 5 });
  });
  test('a container that has ended counts as stopped', async () => {
    const { id } = await run({ command: ['true'] });
    await exitOf(id);
    await engine().stop(id);
  });
  test('a container that does not exist counts as stopped and removed, and is not found', async () => {
    await engine().stop('f'.repeat(64));
    await engine().remove('f'.repeat(64));
    expect(await engine().inspect('f'.repeat(64))).toBeUndefined();
  });
  test('P6: a container of another deployment is neither listed nor found', async () => {
    const foreign = await docker.createContainer({
      Image: 'berth/busybox:1',
      Cmd: ['true'],
      Labels: { 'berth.service': '1' },
    });
    try {
      expect(await engine().list()).toEqual([]);
      expect(await engine().inspect(foreign.id)).toBeUndefined();
    } finally {
      await foreign.remove();
    }
  });
});

describe('the limit of cores', () => {
  const requested = { coresMin: 0.2, coresMax: 1.5, memoryMaxBytes: 64 * 2 ** 20 };
  const hostConfigOf = async (id: string) => (await docker.getContainer(id).inspect()).HostConfig;

  test('C81: the limit of cores is set from the start, and is read back with the limits of the container', async () => {
    const { id, cpu } = await run(requested);
    expect(cpu).toEqual({ min: 0.2, max: 1.5, limit: CPU_LIMIT });
    expect((await hostConfigOf(id)).NanoCpus).toBe(CPU_LIMIT * 1e9);
    expect((await run({ service: 2 })).cpu).toEqual({ min: 0.1, max: null, limit: CPU_LIMIT });
  });
  test('C81: changes while the container runs, in its cgroup also, and nothing else changes', async () => {
    const quota =
      'cat /sys/fs/cgroup/cpu/cpu.cfs_quota_us 2>/dev/null || cut -d " " -f 1 /sys/fs/cgroup/cpu.max';
    const command = ['sh', '-c', `while sleep 0.1; do ${quota}; done`];
    const { id } = await run({ ...requested, command });
    const before = await hostConfigOf(id);
    await engine().updateCpuLimit(id, 0.37);
    expect(await hostConfigOf(id)).toEqual({ ...before, NanoCpus: 0.37e9 });
    expect(await engine().inspect(id)).toMatchObject({ state: 'running', cpu: { limit: 0.37 } });
    await eventually(async () => (await docker.getContainer(id).logs({ stdout: true })).includes('37000'));
  });
  test('C81: the limit of cores is at most the number of cores of the engine', async () => {
    const { NCPU } = await docker.info();
    const { id } = await run();
    await engine().updateCpuLimit(id, NCPU + 1);
    expect((await hostConfigOf(id)).NanoCpus).toBe(NCPU * 1e9);
  });
  test('C82: the limit of cores of a missing container needs no change, and one that the engine refuses is an error', async () => {
    await engine().updateCpuLimit('f'.repeat(64), 1);
    const { id } = await run();
    await expect(engine().updateCpuLimit(id, 0.001)).rejects.toThrow(EngineError);
    expect(await engine().inspect(id)).toMatchObject({ state: 'running', cpu: { limit: CPU_LIMIT } });
  });
});

describe('the usage of containers', () => {
  const signal = new AbortController().signal;

  test('P50: the usage of containers is reported for running containers only', async () => {
    const [{ id }, ended] = await Promise.all([run(), run({ service: 2, command: ['true'] })]);
    const { id: created } = await engine().create(assignment({ service: 3 }), CPU_LIMIT);
    await exitOf(ended.id);
    const reported = await engine().usage([id, ended.id, created, 'f'.repeat(64)], signal);
    expect([...reported.keys()]).toEqual([id]);
  });
});

describe('changes', () => {
  test('an exit and a removal by hand are reported', async () => {
    const changed: string[] = [];
    const watch = await engine().watch((id) => changed.push(id));
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
  test('a missing image has its own kind of error', async () => {
    const error = await errorOf(engine().create(assignment({ image: 'berth/none:1' }), CPU_LIMIT));
    expect(error).toMatchObject({ kind: 'image-missing', message: 'No such image: berth/none:1' });
  });
  test('an invalid image name fails permanently', async () => {
    expect(await errorOf(engine().create(assignment({ image: 'Bad::Name' }), CPU_LIMIT))).toMatchObject({
      kind: 'permanent',
    });
  });
  test('an invalid command is distinguished from a command that fails, with the text of the init process', async () => {
    const { id } = await run({ command: ['nosuch'] });
    expect(await exitOf(id)).toMatchObject({
      exitCode: 127,
      startError: 'exec nosuch failed: No such file or directory',
    });
  });
  test('P307: a program that is missing, or may not be executed, is found wherever the command looks for it', async () => {
    for (const [command, env, startError] of [
      [['/no/such'], [], 'exec /no/such failed: No such file or directory'],
      [['./no/such'], [], 'exec ./no/such failed: No such file or directory'],
      [['/etc/passwd'], [], 'exec /etc/passwd failed: Permission denied'],
      [['sh', '-c', 'true'], [['PATH', '/nowhere:/etc']], 'exec sh failed: No such file or directory'],
    ] as const) {
      const { id } = await run({
        command: [...command],
        environment: env.map(([name, value]) => [name, value]),
      });
      expect(await exitOf(id), startError).toMatchObject({ startError });
      await engine().remove(id);
    }
  });
  test("P307: a command that writes the init process's words and ends with its exit code has run", async () => {
    const words = (of: string) =>
      `printf '[FATAL tini (7)] exec ${of} failed: No such file or directory\\n' >&2`;
    for (const script of [
      `${words('nosuch')}; exit 127`,
      `${words('sh')}; exit 127`,
      `${words('sh')}; exit 126`,
      `echo begun; ${words('sh')}; exit 127`,
      `ln -s /bin/sh /tmp/sh; ${words('sh')}; exit 127`,
    ]) {
      const { id } = await run({ command: ['sh', '-c', script] });
      const seen = await exitOf(id);
      expect(seen, script).not.toHaveProperty('startError');
      expect(seen.exitCode).toBeGreaterThan(125);
      await engine().remove(id);
    }
  });
  test('a command that fails with the same code counts as valid', async () => {
    const { id } = await run({ command: ['sh', '-c', 'exit 127'] });
    expect(await exitOf(id)).not.toHaveProperty('startError');
  });
  test('an invalid working folder fails permanently, with the text of the engine', async () => {
    expect(await errorOf(run({ workDir: '/etc/passwd' }))).toMatchObject({
      kind: 'permanent',
      message: expect.stringContaining('not a directory'),
    });
  });
  test('a limit that the engine refuses fails permanently', async () => {
    expect(await errorOf(run({ memoryMaxBytes: 1000 }))).toMatchObject({ kind: 'permanent' });
  });
  test('P305: an unreachable registry fails temporarily, after a second attempt, with the likely remedy', async () => {
    const allowing = makeEngine({ registries: ['127.0.0.1:9'] });
    const error = await errorOf(allowing.pull('127.0.0.1:9/none:1', () => {}, noWait));
    expect(error).toMatchObject({
      kind: 'temporary',
      message: expect.stringMatching(
        /^pulling 127\.0\.0\.1:9\/none:1: .*connection refused \(is the name of the image right, .* registry 127\.0\.0\.1:9 can't be reached/,
      ),
    });
  });
  test('a pull without progress fails temporarily', async () => {
    const silent = createServer(() => {}).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { port } = silent.address() as { port: number };
    const error = await errorOf(
      makeEngine({ stallMs: 300, registries: [`127.0.0.1:${port}`] }).pull(
        `127.0.0.1:${port}/none:1`,
        () => {},
        noWait,
      ),
    );
    silent.close();
    expect(error).toMatchObject({ kind: 'temporary', message: expect.stringContaining('no progress') });
  });
  test('an engine that is not running is unreachable', async () => {
    const lost = makeEngine({ docker: connectEngine('unix:///nowhere/docker.sock') });
    expect(await errorOf(lost.list())).toMatchObject({ kind: 'unreachable' });
  });
});

describe('a container as the engine reports it', () => {
  test('a container has the limits, labels and isolation of its service', async () => {
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
      RestartPolicy: { Name: 'no' },
      SecurityOpt: ['no-new-privileges'],
      Privileged: false,
      Init: true,
    });
    expect(Config).toMatchObject({
      Hostname: assignment().name,
      Labels: { 'berth.deployment': deployment, 'berth.owner': assignment().owner },
    });
  });
  test('P290: the engine publishes no port with publish: false, and the container is reached on its own address', async () => {
    const ports = [
      { port: 8080, protocol: 'tcp' as const, publish: false as const },
      { port: 8081, protocol: 'tcp' as const },
    ];
    const container = await run({
      ports,
      command: ['sh', '-c', 'while true; do echo hello | nc -l -p 8080; done'],
    });
    if (container.state !== 'running') throw new Error('it does not run');
    expect(container.ports.map(({ port }) => port)).toEqual([8081]);
    const { NetworkSettings } = await docker.getContainer(container.id).inspect();
    expect(NetworkSettings.Ports).toMatchObject({ '8080/tcp': null, '8081/tcp': expect.any(Array) });
    expect(await eventually(() => greeting(container.ipAddress, 8080))).toBe('hello\n');
  });
});

/** What a server says before it closes the connection. */
async function greeting(host: string, port: number): Promise<string> {
  return text(connect({ host, port }));
}
