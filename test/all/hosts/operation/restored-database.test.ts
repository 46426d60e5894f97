/** What agents learn at a control plane whose database is older than they remember. */
import { expect, test } from 'vitest';
import { ScriptedAgent, seen } from '../../../support/agents/scripted-agent.ts';
import { hosts, onHostsWith } from '../../../support/hosts/hosts.ts';

onHostsWith({ BERTH_UNKNOWN_CONTAINERS: 'remove' }, hosts, (host) => {
  test('C101: with BERTH_UNKNOWN_CONTAINERS=remove no service is left alone', async () => {
    await using agent = await ScriptedAgent.join(host(), {
      inventory: [seen.created({ service: 500, generation: 3 })],
      highest: { execution: 70, service: 520 },
    });
    expect(agent.all('sync').at(-1)?.unknown).toBeUndefined();
  });
});
