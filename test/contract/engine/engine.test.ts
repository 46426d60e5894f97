/** The Engine port on a real Docker engine: containers, their changes and failures. */
import { expect, onTestFinished, test } from 'vitest';
import { EngineError } from '../../../agent/engine/engine.ts';
import { CPU_LIMIT, dockerRig, errorOf } from '../../support/engines/docker-rig.ts';
import { eventually } from '../../support/tools/eventually.ts';

const { docker, engine, makeEngine, assignment, run, exitOf } = dockerRig('engine');
const noWait = new AbortController().signal;

test('P143: a container goes from created to running, with the proof of its ids and its address', async () => {
  const wanted = assignment({ idProof: 'proof_of-ids' });
  const created = await engine().create(wanted, CPU_LIMIT);
  const ids = { service: 1, generation: 1, execution: wanted.execution, idProof: 'proof_of-ids' };
  expect(created).toMatchObject({ ...ids, state: 'created' });
  expect(await engine().start(wanted, created.id, CPU_LIMIT, true)).toMatchObject({
    ...{ ...ids, state: 'running' },
    ipAddress: expect.stringMatching(/^\d+\.\d+\.\d+\.\d+$/),
  });
});
test('P5, C172: a container is created once for its key, and not for now while another one has its name', async () => {
  const first = await engine().create(assignment(), CPU_LIMIT);
  expect((await engine().create(assignment(), CPU_LIMIT)).id).toBe(first.id);
  const taken = { kind: 'temporary', message: expect.stringContaining(assignment().name) };
  const later = () => errorOf(engine().create(assignment({ generation: 2 }), CPU_LIMIT));
  expect(await later()).toMatchObject(taken);
  await engine().remove(first.id);
  const { name, image } = assignment();
  const foreign = await docker.createContainer({ name, Image: image, Cmd: ['true'] });
  onTestFinished(() => foreign.remove());
  expect(await later()).toMatchObject(taken);
  expect((await foreign.inspect()).Id).toBe(foreign.id);
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
test('a container is stopped by SIGTERM, and again without effect', async () => {
  const { id } = await run({ command: ['sh', '-c', 'trap "exit 5" TERM; while true; do sleep 0.1; done'] });
  await engine().stop(id);
  await engine().stop(id);
  expect(await engine().inspect(id)).toMatchObject({ state: 'exited', exitCode: 5 });
});
test('a container that does not exist counts as stopped and removed, and is not found', async () => {
  await engine().stop('f'.repeat(64));
  await engine().remove('f'.repeat(64));
  expect(await engine().inspect('f'.repeat(64))).toBeUndefined();
});

const requested = { coresMin: 0.2, coresMax: 1.5, memoryMaxBytes: 64 * 2 ** 20 };
const hostConfigOf = async (id: string) => (await docker.getContainer(id).inspect()).HostConfig;

test('C81: the limit of cores is set from the start, and is read back with the limits of the container', async () => {
  const { id, cpu } = await run(requested);
  expect(cpu).toEqual({ min: 0.2, max: 1.5, limit: CPU_LIMIT });
  expect((await hostConfigOf(id)).NanoCpus).toBe(CPU_LIMIT * 1e9);
  expect((await run({ service: 2 })).cpu).toEqual({ min: 0.1, max: null, limit: CPU_LIMIT });
});
test('C81: the limit of cores changes while the container runs, in its cgroup also, and nothing else does', async () => {
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
test('C82: the limit of cores of a missing container needs no change, and one that the engine refuses is an error', async () => {
  await engine().updateCpuLimit('f'.repeat(64), 1);
  const { id } = await run();
  await expect(engine().updateCpuLimit(id, 0.001)).rejects.toThrow(EngineError);
  expect(await engine().inspect(id)).toMatchObject({ state: 'running', cpu: { limit: CPU_LIMIT } });
});

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

test('P307: a program that is missing, or may not be executed, is found wherever the command looks for it', async () => {
  for (const [command, env, startError] of [
    [['nosuch'], [], 'exec nosuch failed: No such file or directory'],
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
  const words = "printf '[FATAL tini (7)] exec sh failed: No such file or directory\\n' >&2";
  const { id } = await run({ command: ['sh', '-c', `${words}; exit 127`] });
  const seen = await exitOf(id);
  expect(seen).not.toHaveProperty('startError');
  expect(seen.exitCode).toBe(127);
});
test('an invalid working folder fails permanently, with the text of the engine', async () => {
  expect(await errorOf(run({ workDir: '/etc/passwd' }))).toMatchObject({
    kind: 'permanent',
    message: expect.stringContaining('not a directory'),
  });
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
