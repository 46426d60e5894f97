import { expect, test } from 'vitest';
import { ScriptedAgent, seen } from '../../../support/agents/scripted-agent.ts';
import { ApiClient } from '../../../support/clients/api-client.ts';
import { hosts, onHosts } from '../../../support/hosts/hosts.ts';
import { eventually } from '../../../support/tools/eventually.ts';

/** A service of an execution that the database does not have. */
const unknownStart = { service: 500, generation: 3 };
const laterHello = {
  inventory: [{ ...seen.created(unknownStart) }],
  highest: { execution: 70, service: 520 },
};

onHosts(hosts, (host) => {
  const api = new ApiClient(host);

  test('C100, C101: an older copy of the database gives no id again, and the agent must leave unknown services alone', async () => {
    const agent = await ScriptedAgent.join(host(), laterHello);
    expect(agent.all('sync').at(-1)?.unknown).toEqual([{ first: 1, last: 520 }]);
    await eventually(() => host().output().includes('agent.unknown-containers'));
    expect(await api.submit()).toBe(71);
    await host().crash();
    await host().start();
    const again = await ScriptedAgent.join(host(), laterHello);
    expect(again.all('sync').at(-1)?.unknown).toEqual([{ first: 1, last: 520 }]);
    const id = await api.submit();
    expect(id).toBe(72);
    const [one] = await again.assigned(id);
    expect(one?.service).toBeGreaterThan(520);
    await again.close();
  });
});

onHosts(
  hosts,
  (host) => {
    test('C101: with BERTH_UNKNOWN_CONTAINERS=remove no service is left alone', async () => {
      const agent = await ScriptedAgent.join(host(), laterHello);
      expect(agent.all('sync').at(-1)?.unknown).toBeUndefined();
      await agent.close();
    });
  },
  { BERTH_UNKNOWN_CONTAINERS: 'remove' },
);
