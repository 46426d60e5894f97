import { expect, test } from 'vitest';
import { ScriptedAgent, seen } from '../../support/agents/scripted-agent.ts';
import { ApiClient } from '../../support/clients/api-client.ts';
import { application, service } from '../../support/fixtures/descriptions.ts';
import { eitherGroup, onHosts } from '../../support/hosts/hosts.ts';

onHosts(eitherGroup, (host) => {
  const api = new ApiClient(host);

  test('P136: a container id of 700 KB closes with 4400, and nothing of its report counts', async () => {
    await using agent = await ScriptedAgent.join(host());
    const id = await api.submit(application(service()));
    const one = await agent.only(id);
    const running = { ...seen.running(one), containerId: 'c'.repeat(700_000) };
    await expect(agent.report(running)).rejects.toThrow('4400');
    expect(await api.service(one.service)).toMatchObject({ backend_id: '', status: 'starting' });
    await using again = await ScriptedAgent.join(host(), { inventory: [seen.running(one)] });
    expect(again.assignments.size).toBeGreaterThan(0);
    expect((await api.execution(id)).status).toBe('running');
  });
});
