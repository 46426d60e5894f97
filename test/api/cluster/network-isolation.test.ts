import { expect, test } from 'vitest';
import { ScriptedAgent } from '../../support/agents/scripted-agent.ts';
import { ApiClient } from '../../support/clients/api-client.ts';
import { hosts, onHostsWith } from '../../support/hosts/hosts.ts';

for (const isolation of ['user', 'execution'] as const)
  onHostsWith(isolation === 'user' ? {} : { BERTH_NETWORK_ISOLATION: isolation }, hosts, (host) => {
    test(`C190, P91: with isolation ${isolation} each assignment carries it, in a start and in a sync`, async () => {
      const agent = await ScriptedAgent.join(host());
      const id = await new ApiClient(host).submit();
      const [started] = await agent.assigned(id);
      expect(started).toMatchObject({ isolation, owner: 'admin' });
      await agent.close();
      await using again = await ScriptedAgent.join(host());
      expect(again.all('sync').at(-1)?.assignments).toEqual([started]);
    });
  });
