import { expect, test } from 'vitest';
import { ScriptedAgent, seen } from '../../support/agents/scripted-agent.ts';
import { ApiClient } from '../../support/clients/api-client.ts';
import { HostClient } from '../../support/clients/host-client.ts';
import { application, service } from '../../support/fixtures/descriptions.ts';
import { eitherGroup, onHosts, queuedIn } from '../../support/hosts/hosts.ts';

const GIB = 2 ** 30;
let names = 0;

onHosts(eitherGroup, (host, { variant }) => {
  const api = new ApiClient(host);
  const hosts = new HostClient(api.http);

  const join = (name: string, labels: string[], cores = 4) =>
    ScriptedAgent.join(host(), { facts: { name, labels, cores, memoryBytes: 8 * GIB } });

  test("C208, H366, P142: a host that claims another user's label gets none of the work until an administrator accepts it", async () => {
    const name = `claims-${++names}`;
    const label = `secret-${names}`;
    await (await join(name, ['plain'])).close();
    await using agent = await join(name, ['plain', label], 64);
    const id = await api.submit(application(service({ labels: [label] })));
    const pending = { labels: ['plain', label], memory: 8 * GIB, cores: 64 };
    const found = await hosts.named(name);
    expect(found).toMatchObject({ labels: ['plain'], cores_total: 4, memory_total: 8 * GIB, pending });
    expect((await api.execution(id)).status).toBe(queuedIn(variant));
    expect(agent.assignments.size).toBe(0);
    expect(agent.all('welcome')[0]?.pending).toContain(`labels plain ${label}`);

    expect((await api.http.post(`host/${found.id}`, { accept: { ...pending, cores: 8 } })).status).toBe(409);
    await hosts.change(found.id, { accept: pending });
    const one = await agent.runs(id);
    expect(await hosts.named(name)).toMatchObject({
      labels: ['plain', label],
      cores_total: 64,
      pending: null,
    });
    // The agreement is stored.
    await agent.close();
    const again = await ScriptedAgent.join(host(), {
      facts: { name, labels: ['plain', label], cores: 64, memoryBytes: 8 * GIB },
      inventory: [seen.running(one)],
    });
    expect((await hosts.named(name)).pending).toBe(null);
    await again.close();
  });
});
