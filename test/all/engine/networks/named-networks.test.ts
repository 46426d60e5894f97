/** The networks that a description or the agent's settings name, on a real Docker engine. */
import { describe, expect, onTestFinished, test } from 'vitest';
import { CPU_LIMIT, dockerRig, errorOf } from '../../../support/engines/docker-rig.ts';

const { docker, deployment, engine, makeEngine, assignment, run, exitOf } = dockerRig('named');

describe('the network that a description names', () => {
  test('P91: a network that the settings do not allow is refused permanently, even the host network', async () => {
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

describe('the network that the settings name for all services', () => {
  const shared = `shared-${deployment}`;
  const joining = () => makeEngine({ network: shared });
  const makeShared = async () => {
    const made = await docker.createNetwork({ Name: shared });
    onTestFinished(() => made.remove());
    return made;
  };

  test('C111: the network in the settings is joined by containers, which reach each other by name, and left unchanged by an agent that ends', async () => {
    const made = await makeShared();
    const { id: named } = await run({ service: 2 }, joining());
    expect((await docker.getContainer(named).inspect()).HostConfig.NetworkMode).toBe(shared);
    const { id } = await run({ command: ['nslookup', assignment({ service: 2 }).name] }, joining());
    expect(await exitOf(id)).toMatchObject({ exitCode: 0 });
    await Promise.all([id, named].map((one) => engine().remove(one)));
    await joining().removeUnused(0);
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
});
