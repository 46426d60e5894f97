/** Overlay networks of a swarm, as its agents see them. */
import { expect, test } from 'vitest';
import type { Swarm } from '../../../shared/protocol/swarm.ts';
import { ScriptedAgent } from '../../support/agents/scripted-agent.ts';
import { ApiClient } from '../../support/clients/api-client.ts';
import { application, service } from '../../support/fixtures/descriptions.ts';
import { hosts, onHosts, onHostsWith } from '../../support/hosts/hosts.ts';
import { eventually } from '../../support/tools/eventually.ts';

const MANAGER: Swarm = { node: 'm', isManager: true, managers: ['m'] };
const WORKER: Swarm = { node: 'w', isManager: false, managers: ['m'] };

const made = (agent: ScriptedAgent) => agent.all('network.make').map(({ isolation, of }) => [isolation, of]);

onHosts(hosts, (host) => {
  const join = (name: string, swarm?: Swarm) =>
    ScriptedAgent.join(host(), { facts: { name, labels: [name] }, ...(swarm && { swarm }) });
  const at = (name: string) => new ApiClient(host).submit(application(service({ labels: [name] })));

  test('C191, C192, P98, P99: an agent on a manager is asked for the network of each start in its swarm, and again when it connects', async () => {
    await using worker = await join('worker', WORKER);
    await using plain = await join('plain');
    const [early] = await worker.assigned(await at('worker'));
    expect(early).toMatchObject({ overlay: 'later' });
    const [apart] = await plain.assigned(await at('plain'));
    expect(apart).not.toHaveProperty('overlay');

    await using manager = await join('manager', MANAGER);
    await eventually(() => made(manager).length === 1);
    expect(made(manager)).toEqual([['user', 'admin']]);
    const [late] = await worker.assigned(await at('worker'));
    expect(late).toMatchObject({ overlay: 'now', isolation: 'user', owner: 'admin' });
    // A network that was requested a moment ago is not requested again.
    expect(made(manager)).toHaveLength(1);
    expect(made(plain)).toEqual([]);
  });
});

onHostsWith({ BERTH_NETWORK_ISOLATION: 'none' }, hosts, (host) => {
  test('C192: with isolation none nothing joins an overlay network', async () => {
    await using agent = await ScriptedAgent.join(host(), { swarm: MANAGER });
    const [assignment] = await agent.assigned(await new ApiClient(host).submit());
    expect(assignment).not.toHaveProperty('overlay');
    expect(made(agent)).toEqual([]);
  });
});
