import { afterAll, beforeAll, expect, test } from 'vitest';
import { ScriptedAgent, seen } from '../../support/agents/scripted-agent.ts';
import { AccountClient, type Fields } from '../../support/clients/account-client.ts';
import { ApiClient } from '../../support/clients/api-client.ts';
import { needs } from '../../support/fixtures/applications.ts';
import { application, service } from '../../support/fixtures/descriptions.ts';
import { hosts, onHosts } from '../../support/hosts/hosts.ts';

const GIB = 1024 ** 3;
const NO_CAPS = { concurrent_executions: 0, memory: 0, cores: 0 };
/** The host is never what an execution waits for, whatever earlier tests left running. */
const facts = { memoryBytes: 2 ** 50, cores: 10_000 };

/** A quarter of a core and a GiB. */
const described = application(service({ resources: needs(GIB, 0.25, null) }));

onHosts(hosts, (host) => {
  const accounts = new AccountClient(host);
  let agent: ScriptedAgent;
  let users = 0;

  beforeAll(async () => {
    agent = await ScriptedAgent.join(host(), { facts });
  });
  afterAll(() => agent.close());

  /** A new user under a quota of its own with these caps. */
  async function userWith(caps: Fields) {
    const username = `capped-${++users}`;
    const quota = await accounts.create('quota', { name: username, ...NO_CAPS, ...caps });
    const id = await accounts.addUser(username, { quota_id: quota });
    const api = new ApiClient(host, username, 'secret words');
    // One login in advance, so that simultaneous requests cause no hash calculation each.
    await api.executions();
    const statuses = async (ids: readonly number[]) =>
      Promise.all(ids.map(async (one) => (await api.execution(one)).status));
    return { id, quota, api, statuses, username };
  }

  async function end(api: ApiClient, execution: number): Promise<void> {
    const assigned = await agent.assigned(execution);
    await api.terminate(execution);
    await agent.report(...assigned.map(seen.gone));
  }

  test('H140: from the answer on, waiting executions within a raised quota have started', async () => {
    const { api, quota, statuses } = await userWith({ concurrent_executions: 1 });
    const ids = [await api.submit(described), await api.submit(described), await api.submit(described)];
    expect(await statuses(ids)).toEqual(['starting', 'queued', 'queued']);
    await accounts.update('quota', quota, { concurrent_executions: 2 });
    expect(await statuses(ids)).toEqual(['starting', 'starting', 'queued']);
    await accounts.update('quota', quota, { concurrent_executions: 0 });
    expect(await statuses(ids)).toEqual(['starting', 'starting', 'starting']);
  });

  test('H140: from the answer on, a user with another quota has its waiting executions started, and other users do not', async () => {
    const { api, id, quota, statuses } = await userWith({ concurrent_executions: 1 });
    const other = await accounts.addUser(`beside-${id}`, { quota_id: quota });
    const beside = new ApiClient(host, `beside-${id}`, 'secret words');
    const ids = [await api.submit(described), await api.submit(described)];
    const theirs = [await beside.submit(described), await beside.submit(described)];
    await accounts.update('user', id, { quota_id: 1 });
    expect(await statuses(ids)).toEqual(['starting', 'starting']);
    expect((await beside.execution(theirs[1] ?? 0)).status).toBe('queued');
    await accounts.remove('user', other);
  });

  test('H140: a lowered quota stops nothing, and from its answer on nothing starts beyond it', async () => {
    const { api, quota, statuses } = await userWith(NO_CAPS);
    const ids = [await api.submit(described), await api.submit(described)];
    await accounts.update('quota', quota, { memory: 2 * GIB });
    ids.push(await api.submit(described));
    expect(await statuses(ids)).toEqual(['starting', 'starting', 'queued']);
    await end(api, ids[1] ?? 0);
    expect(await statuses(ids)).toEqual(['starting', 'terminated', 'starting']);
  });

  test('C50: an execution that starts after its user was renamed has the new name', async () => {
    const { api, id, quota, username } = await userWith({ concurrent_executions: 1 });
    await api.submit(described);
    const second = await api.submit(described);
    await accounts.update('user', id, { username: `${username}-renamed` });
    await accounts.update('quota', quota, { concurrent_executions: 2 });
    const { owner, environment } = await agent.only(second);
    expect(Object.fromEntries(environment).BERTH_USER).toBe(`${username}-renamed`);
    // Its files stay where they are (H754).
    expect(owner).toBe(username);
  });
});
