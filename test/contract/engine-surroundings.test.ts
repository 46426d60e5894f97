/** The surroundings of containers on a real Docker engine: mounts, networks and ports. */
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { CPU_LIMIT, dockerRig, errorOf } from '../support/engines/docker-rig.ts';
import { eventually } from '../support/tools/eventually.ts';

const { docker, deployment, engine, scratch, makeEngine, assignment, run, exitOf } = dockerRig('around');

describe('mounts', () => {
  test('a volume below an allowed root is mounted, read-only on request', async () => {
    await writeFile(`${scratch()}/file`, 'data');
    const on = makeEngine({ volumeRoots: [scratch()] });
    const volumes = [{ name: 'in', path: scratch(), readOnly: true }];
    const command = ['sh', '-c', 'test "$(cat /mnt/in/file)" = data && ! touch /mnt/in/new'];
    const { id } = await run({ volumes, command }, on);
    expect(await exitOf(id)).toMatchObject({ exitCode: 0 });
  });
  test('a volume that leaves its root by a symbolic link is refused permanently', async () => {
    await mkdir(`${scratch()}/root`);
    await symlink('/etc', `${scratch()}/root/link`);
    const on = makeEngine({ volumeRoots: [`${scratch()}/root`] });
    const volumes = [{ name: 'in', path: `${scratch()}/root/link`, readOnly: true }];
    expect(await errorOf(on.create(assignment({ volumes }), CPU_LIMIT))).toMatchObject({
      kind: 'permanent',
      message: expect.stringContaining('path not allowed'),
    });
  });
  test('the workspace of the owner is mounted if it exists', async () => {
    await mkdir(`${scratch()}/alice`);
    const { id } = await run(
      { command: ['touch', '/workspace/new'] },
      makeEngine({ workspaceRoot: scratch() }),
    );
    expect(await exitOf(id)).toMatchObject({ exitCode: 0 });
  });
  test('an owner whose name is a path has no workspace', async () => {
    const on = makeEngine({ workspaceRoot: scratch() });
    const { id } = await on.create(assignment({ owner: '../etc' }), CPU_LIMIT);
    expect((await docker.getContainer(id).inspect()).Mounts).toEqual([]);
  });
});

describe('networks', () => {
  test('a published port is reachable on the host', async () => {
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
  test('a network that the settings do not allow is refused permanently, even the host network', async () => {
    for (const network of ['host', 'bridge']) {
      const refused = errorOf(
        makeEngine({ networks: ['overlay1'] }).create(assignment({ network }), CPU_LIMIT),
      );
      expect(await refused).toMatchObject({
        kind: 'permanent',
        message: `network not allowed on this host: ${network} (its agent allows only the networks in BERTH_AGENT_NETWORKS)`,
      });
    }
  });
  test('a network that the settings allow is joined', async () => {
    const network = `other-${deployment}`;
    const made = await docker.createNetwork({ Name: network });
    onTestFinished(() => made.remove());
    const { id } = await run({ network, command: ['true'] }, makeEngine({ networks: [network] }));
    expect((await docker.getContainer(id).inspect()).HostConfig.NetworkMode).toBe(network);
    await engine().remove(id);
  });
  test('an allowed network that does not exist fails permanently', async () => {
    const on = makeEngine({ networks: ['nosuch'] });
    expect(await errorOf(run({ network: 'nosuch' }, on))).toMatchObject({
      kind: 'permanent',
      message: 'network nosuch not found',
    });
  });
});

describe("the deployment's network", () => {
  const network = `berth-${deployment}`;
  const networks = () => docker.listNetworks({ filters: { name: [network] } });

  test("the deployment's network is created once, even by concurrent starts", async () => {
    const racers = [makeEngine(), makeEngine(), makeEngine()];
    await Promise.all(racers.map((racer, i) => racer.create(assignment({ service: i + 1 }), CPU_LIMIT)));
    expect(await networks()).toHaveLength(1);
  });
  test('P6: carries the label of the deployment', async () => {
    await engine().create(assignment(), CPU_LIMIT);
    expect((await networks())[0]?.Labels).toEqual({ 'berth.deployment': deployment });
  });
  test("the deployment's network is created again after it vanished", async () => {
    await engine().create(assignment(), CPU_LIMIT);
    await engine().remove(assignment().name);
    await docker.getNetwork(network).remove();
    expect(await run()).toMatchObject({ state: 'running' });
  });
  test("P47: the deployment's network is removed together with every unused network of its label, and no other network is", async () => {
    const Labels = { 'berth.deployment': deployment };
    await docker.createNetwork({ Name: `berth-${deployment}-old`, Labels });
    const foreign = await docker.createNetwork({ Name: `berth-${deployment}-foreign` });
    onTestFinished(() => foreign.remove());
    await engine().create(assignment(), CPU_LIMIT);
    await engine().remove(assignment().name);
    await engine().tidy();
    expect((await networks()).map(({ Name }) => Name)).toEqual([`berth-${deployment}-foreign`]);
  });
  test("P47: the deployment's network is removed when nothing uses it", async () => {
    const { id } = await run();
    await engine().tidy();
    expect(await networks()).toHaveLength(1);
    await engine().remove(id);
    await engine().tidy();
    expect(await networks()).toHaveLength(0);
  });
});

describe('the network that the settings name for all services', () => {
  const shared = `shared-${deployment}`;
  const joining = () => makeEngine({ network: shared });
  const makeShared = async () => {
    const made = await docker.createNetwork({ Name: shared });
    onTestFinished(() => made.remove());
    return made;
  };

  test('C111: the network in the settings is joined by containers, which reach each other by name', async () => {
    await makeShared();
    const { id: named } = await run({ service: 2 }, joining());
    expect((await docker.getContainer(named).inspect()).HostConfig.NetworkMode).toBe(shared);
    const { id } = await run({ command: ['ping', '-c', '1', assignment({ service: 2 }).name] }, joining());
    expect(await exitOf(id)).toMatchObject({ exitCode: 0 });
    await Promise.all([id, named].map((one) => engine().remove(one)));
  });
  test('C111: the network in the settings is left unchanged by an agent that ends', async () => {
    const made = await makeShared();
    await joining().tidy();
    expect(await made.inspect()).toMatchObject({ Name: shared, Labels: {} });
  });
  test('C112: causes a temporary failure while it does not exist, with the remedy', async () => {
    expect(await errorOf(joining().create(assignment(), CPU_LIMIT))).toMatchObject({
      kind: 'temporary',
      message: `network ${shared} does not exist on this engine, which is not in a swarm: create it, or join the swarm that has it`,
    });
    await makeShared();
    const { id } = await joining().create(assignment(), CPU_LIMIT);
    await engine().remove(id);
  });
  test('C112: causes a temporary failure if it vanished after it was joined', async () => {
    const made = await docker.createNetwork({ Name: shared });
    const on = joining();
    const { id } = await on.create(assignment(), CPU_LIMIT);
    await made.remove();
    expect(await errorOf(on.start(assignment(), id, CPU_LIMIT))).toMatchObject({
      kind: 'temporary',
      message: expect.stringContaining(`network ${shared} does not exist`),
    });
  });
});
