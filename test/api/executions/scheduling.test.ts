import { expect, onTestFinished, test } from 'vitest';
import type { ServiceDescription } from '../../../shared/application-schema.ts';
import { ScriptedAgent, seen } from '../../support/agents/scripted-agent.ts';
import { AccountClient } from '../../support/clients/account-client.ts';
import { ApiClient } from '../../support/clients/api-client.ts';
import { application, service } from '../../support/fixtures/descriptions.ts';
import { type Host, hosts, onHosts, onHostsWith } from '../../support/hosts/hosts.ts';

let names = 0;

/** A host for one test only: only services with its label go there. */
async function ownHost(host: Host, cores: number, label = `own-${++names}`) {
  const name = `host-${++names}`;
  const agent = await ScriptedAgent.join(host, { facts: { name, cores, labels: [label] } });
  onTestFinished(() => agent.close());
  const requiring = (minCores: number, changes: Partial<ServiceDescription> = {}): ServiceDescription =>
    service({
      resources: { memory: { min: null, max: null }, cores: { min: minCores, max: null } },
      labels: [label],
      ...changes,
    });
  return { agent, label, requiring };
}

async function end(api: ApiClient, agent: ScriptedAgent, execution: number): Promise<void> {
  const assigned = await agent.assigned(execution);
  await api.terminate(execution);
  await agent.report(...assigned.map(seen.gone));
}

async function statusesOf(api: ApiClient, ids: readonly number[]): Promise<string[]> {
  return Promise.all(ids.map(async (id) => (await api.execution(id)).status));
}

onHosts(hosts, (host) => {
  const api = new ApiClient(host);
  const accounts = new AccountClient(host);

  test('C63: the execution of the user with the higher priority starts first, even if the priority changes while it waits', async () => {
    const { agent, requiring } = await ownHost(host(), 1);
    const urgent = await accounts.addUser(`urgent-${++names}`);
    const theirs = new ApiClient(host, `urgent-${names}`, 'secret words');
    const described = application(requiring(1));
    const running = await api.submit(described);
    const ids = [await api.submit(described), await theirs.submit(described)];
    await accounts.update('user', urgent, { priority: 10 });
    await end(api, agent, running);
    expect(await statusesOf(api, ids)).toEqual(['queued', 'starting']);
    await end(api, agent, ids[1] ?? 0);
    await end(api, agent, ids[0] ?? 0);
  });
});

onHostsWith({ BERTH_QUEUE_POLICY: 'SIZE', BERTH_PLACEMENT_POLICY: 'waterfill' }, hosts, (host) => {
  const api = new ApiClient(host);
  test('C62, C61: with SIZE and waterfill the smallest execution starts first, and the fullest host that fits is taken', async () => {
    const { agent, label, requiring } = await ownHost(host(), 1);
    const sized = (size: number) => api.submit({ ...application(requiring(1)), size });
    const running = await sized(5);
    const ids = [await sized(30), await sized(10), await sized(20)];
    await end(api, agent, running);
    expect(await statusesOf(api, ids)).toEqual(['queued', 'starting', 'queued']);
    for (const id of ids) await api.terminate(id);
    await agent.report(...[...agent.assignments.values()].map(seen.gone));

    const wide = await ownHost(host(), 4, `wide-${label}`);
    await ownHost(host(), 8, `wide-${label}`);
    const half = await api.submit(application(wide.requiring(2)));
    const again = await api.submit(application(wide.requiring(2)));
    expect(await wide.agent.assigned(half)).toHaveLength(1);
    expect(await wide.agent.assigned(again)).toHaveLength(1);
  });
});
