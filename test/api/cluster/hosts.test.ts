import { expect, onTestFinished, test } from 'vitest';
import type { ServiceDescription } from '../../../shared/application-schema.ts';
import { refusalOf } from '../../support/agents/enrolment.ts';
import { proofFor, ScriptedAgent, seen } from '../../support/agents/scripted-agent.ts';
import { ApiClient } from '../../support/clients/api-client.ts';
import { HostClient } from '../../support/clients/host-client.ts';
import { application, service } from '../../support/fixtures/descriptions.ts';
import { eitherGroup, onHosts, queuedIn } from '../../support/hosts/hosts.ts';
import { eventually } from '../../support/tools/eventually.ts';

const GIB = 1024 ** 3;
let names = 0;

onHosts(eitherGroup, (host, { variant }) => {
  const api = new ApiClient(host);
  const hosts = new HostClient(api.http);

  /**
   * A host for this test only: only services with its label go there, or to a second host with the same
   * label.
   */
  async function ownHost(label = `own-${++names}`, cores = 4) {
    const name = `host-${++names}`;
    const agent = await join(name, label, cores);
    const { id } = await hosts.named(name);
    return { agent, id, name, label, cores };
  }

  async function join(name: string, label: string, cores = 4): Promise<ScriptedAgent> {
    const agent = await ScriptedAgent.join(host(), { facts: { name, cores, labels: [label] } });
    onTestFinished(() => agent.close());
    return agent;
  }

  const requiring = (label: string, changes: Partial<ServiceDescription> = {}): ServiceDescription =>
    service({
      resources: { memory: { min: GIB, max: null }, cores: { min: 1, max: null } },
      labels: [label],
      ...changes,
    });

  /** Submits an execution, and has the agent report all its services as running. */
  async function run(agent: ScriptedAgent, ...services: ServiceDescription[]): Promise<number> {
    const id = await api.submit(application(...services));
    const essential = services.reduce((sum, { essential_count }) => sum + essential_count, 0);
    await agent.report(...(await agent.assigned(id, essential)).map(seen.running));
    const all = services.reduce((sum, { total_count }) => sum + total_count, 0);
    await agent.report(...(await agent.assigned(id, all)).map(seen.running));
    return id;
  }

  const elastic = (label: string) =>
    requiring(label, { name: 'work', monitor: false, total_count: 1, essential_count: 0 });

  const stopAll = (agent: ScriptedAgent, execution: number) =>
    agent.released(execution).then(() => agent.report(...agent.known(execution).map(seen.gone)));

  test('H230: the list maps ids to hosts, and a single host also has its services', async () => {
    const { agent, id, name, label } = await ownHost();
    const execution = await run(agent, requiring(label), elastic(label));
    const expected = {
      ...{ id, name, address: '192.0.2.7', state: 'ready', connected: true, lost: false },
      ...{ schedulable: true, labels: [label], admin_labels: [], pending: null, conditions: [] },
      ...{ memory_total: 64 * GIB, memory_reserved: 2 * GIB, memory_limits: 2 * GIB, memory_used: null },
      ...{ cores_total: 4, cores_reserved: 2, cores_used: null, containers: 2 },
      ...{ agent_version: 'test', engine_version: 'none' },
      last_contact: expect.closeTo(Date.now() / 1_000, -2),
    };
    const list = (await api.http.get('host')).json<Record<string, unknown>>();
    expect(list[id]).toEqual(expected);
    const { services: ids } = await api.execution(execution);
    const one = { execution_id: execution, status: 'active', backend_status: 'started' };
    expect(await hosts.read(id)).toEqual({
      ...expected,
      last_contact: expect.any(Number),
      services: [
        { id: ids[0], name: 'main0', essential: true, ...one },
        { id: ids[1], name: 'work0', essential: false, ...one },
      ],
    });
    await api.terminate(execution);
    await stopAll(agent, execution);
    expect(await hosts.read(id)).toMatchObject({ services: [], memory_reserved: 0, cores_reserved: 0 });
  });

  test('H230, C86: usage and conditions of a host are shown while its agent is connected', async () => {
    const { agent, id } = await ownHost();
    const conditions = [{ kind: 'low-disk', text: '0.4 GiB free at /var/lib/docker' }];
    await agent.reportConditions(...conditions);
    const used = async () => {
      const { memory_used, cores_used } = await hosts.read(id);
      return [memory_used, cores_used];
    };
    expect(await used()).toEqual([null, null]);
    await agent.use({ memoryBytes: 3 * GIB, cores: 0.25 });
    await agent.report();
    expect(await hosts.read(id)).toMatchObject({
      state: 'paused',
      conditions,
      memory_used: 3 * GIB,
      cores_used: 0.25,
    });
    await agent.close();
    const disconnected = { conditions: [], memory_used: null, cores_used: null };
    expect(await hosts.reached(id, 'disconnected')).toMatchObject(disconnected);
  });

  test('H231, H217: the state of a host shows whether it accepts services, and the statistics count those that do', async () => {
    const counts = async () => (await api.statistics()).hosts;
    const before = await counts();
    const { agent, id, label } = await ownHost();
    const execution = await run(agent, requiring(label));
    const { known, schedulable } = before;
    expect(await counts()).toMatchObject({ known: known + 1, schedulable: schedulable + 1 });
    await hosts.change(id, { schedulable: false });
    expect((await hosts.read(id)).state).toBe('draining');
    expect(await counts()).toMatchObject({ known: known + 1, schedulable });
    await api.terminate(execution);
    await stopAll(agent, execution);
    expect((await hosts.read(id)).state).toBe('drained');
    await hosts.change(id, { schedulable: true });
    expect((await hosts.read(id)).state).toBe('ready');
    await agent.close();
    await hosts.reached(id, 'disconnected');
    await hosts.remove(id);
    expect(await counts()).toMatchObject({ known });
  });

  test('H230: an unknown host and a malformed id are 404, and the list is filtered by name and by nothing else', async () => {
    for (const path of ['host/999999', 'host/none', 'host/-1'])
      for (const method of ['GET', 'DELETE', 'POST'])
        expect((await api.http.send(method, path, method === 'POST' ? '{}' : undefined)).status).toBe(404);
    const { id, name } = await ownHost();
    const reply = await api.http.get(`host?name=${name}`);
    expect(Object.keys(reply.json())).toEqual([String(id)]);
    for (const query of ['state=ready', `name=${name}&name=${name}`])
      expect((await api.http.get(`host?${query}`)).status, query).toBe(400);
  });

  test('H232: a change that is not valid is 400 and changes nothing', async () => {
    const { id } = await ownHost();
    const before = await hosts.read(id);
    for (const changes of [
      { name: 'new' },
      ...[['a b'], [''], 'gpu', Array.from({ length: 51 }, (_, at) => `label${at}`)].map((labels) => ({
        labels,
      })),
      { schedulable: 'false' },
      { force: true },
      { force: true, schedulable: true },
    ])
      expect((await api.http.post(`host/${id}`, changes)).status, JSON.stringify(changes)).toBe(400);
    expect({ ...(await hosts.read(id)), last_contact: 0 }).toEqual({ ...before, last_contact: 0 });
  });

  test('H232: changes of a host survive a restart', async () => {
    const { id } = await ownHost();
    await hosts.change(id, { schedulable: false, labels: ['kept'] });
    await host().crash();
    await host().start();
    const read = await eventually(async () => hosts.read(id).catch(() => undefined));
    expect(read).toMatchObject({ schedulable: false, admin_labels: ['kept'] });
  });

  test('H233, C93: an empty host is removed, and its agent is informed at once and at its next connection', async () => {
    const { agent, id, name } = await ownHost();
    const reply = await hosts.remove(id);
    expect(reply).toMatchObject({ status: 200 });
    expect(reply.json()).toEqual({ message: `Host ${name} is removed.`, requeued: [], left_behind: 0 });
    expect(await agent.closed()).toBe(4403);
    const refused = await refusalOf(host().url(), await proofFor(host(), name));
    expect([refused.status, await refused.json()]).toMatchObject([403, { reason: 'revoked' }]);
    expect((await api.http.get(`host/${id}`)).status).toBe(404);
    expect((await hosts.remove(id)).status).toBe(404);
  });

  test('H233, C94: removing a connected host with services is 409, even by force', async () => {
    const { agent, id, name, label } = await ownHost();
    const execution = await run(agent, requiring(label));
    for (const force of [false, true]) {
      const reply = await hosts.remove(id, { force });
      expect(reply.status).toBe(409);
      expect(reply.json().message).toContain(`Host ${name} has 1 service and is connected: drain it first`);
    }
    await hosts.change(id, { schedulable: false, force: true });
    await stopAll(agent, execution);
    expect((await hosts.remove(id)).status).toBe(200);
    expect((await api.execution(execution)).status).toBe(queuedIn(variant));
    await api.terminate(execution);
  });

  test('H233: a removal with an odd query is 400', async () => {
    for (const query of ['force=perhaps', 'force=true&force=true', 'how=now'])
      expect((await api.http.delete(`host/1?${query}`)).status, query).toBe(400);
  });
});
