import { afterAll, beforeAll, expect, test } from 'vitest';
import { ScriptedAgent, seen } from '../../support/agents/scripted-agent.ts';
import { ApiClient } from '../../support/clients/api-client.ts';
import { application, service } from '../../support/fixtures/descriptions.ts';
import { bothGroups, onHosts } from '../../support/hosts/hosts.ts';
import { eventually } from '../../support/tools/eventually.ts';

const web = service({
  name: 'web',
  total_count: 2,
  essential_count: 2,
  ports: [
    { name: 'Page', port_number: 80, protocol: 'tcp', url_template: 'http://{ip_port}/start?at={ip_port}' },
    { name: 'Names', port_number: 53, protocol: 'udp', url_template: 'dns://{ip_port}' },
  ],
});

onHosts(bothGroups, (host) => {
  const api = new ApiClient(host);
  let agent: ScriptedAgent;

  beforeAll(async () => {
    agent = await ScriptedAgent.join(host());
  });
  afterAll(() => agent.close());

  /** An execution whose services all run. */
  async function running(described = application(service())) {
    const id = await api.submit(described);
    const count = described.services.reduce((sum, { total_count }) => sum + total_count, 0);
    const assignments = await agent.assigned(id, count);
    await agent.report(...assignments.map(seen.running));
    return { id, assignments, execution: await api.execution(id) };
  }

  test('H50: an execution is starting until every essential service runs, then running since time_start', async () => {
    const id = await api.submit(application(web));
    const [first, second] = await agent.assigned(id, 2);
    expect(await api.execution(id)).toMatchObject({ status: 'starting', time_start: null });
    await agent.report(seen.running(first));
    expect(await api.execution(id)).toMatchObject({ status: 'starting', time_start: null });
    await agent.report(seen.running(second));
    const execution = await api.execution(id);
    expect(execution).toMatchObject({ status: 'running', time_end: null, error_message: null });
    expect(execution.time_start).toBeGreaterThanOrEqual(execution.time_submit);
    expect(execution.time_start).toBeLessThanOrEqual(Date.now() / 1000 + 0.001);
    await api.terminate(id);
    await agent.report(seen.gone(first), seen.gone(second));
  });

  test('H35, H50, H70: an execution is cleaning up, which another termination does not change, until its containers are gone, then terminated since time_end', async () => {
    const { id, assignments, execution } = await running();
    const { termination_threads_count } = await api.statistics();
    await api.terminate(id);
    expect(await api.execution(id)).toMatchObject({ status: 'cleaning up', time_end: null });
    expect(await api.statistics()).toMatchObject({
      termination_threads_count: termination_threads_count + 1,
    });
    await api.terminate(id);
    await agent.released(id);
    await agent.report(...assignments.map(seen.gone));
    expect((await api.http.delete(`execution/${id}`)).status).toBe(409);
    const ended = await api.execution(id);
    expect(ended).toMatchObject({
      status: 'terminated',
      error_message: null,
      time_start: execution.time_start,
    });
    expect(ended.time_end).toBeGreaterThanOrEqual(execution.time_start ?? Number.NaN);
    expect(await api.statistics()).toMatchObject({ termination_threads_count });
  });

  test('H51: error_message is present when the status is error, not before', async () => {
    const { id, assignments } = await running();
    await agent.report(...assignments.map((one) => seen.exited(one, 137, true)));
    expect(await api.execution(id)).toMatchObject({ status: 'cleaning up', error_message: null });
    await agent.report(...assignments.map(seen.gone));
    const ended = await api.execution(id);
    expect(ended).toMatchObject({
      status: 'error',
      error_message: 'service main0 ended with exit code 137 (out of memory)',
    });
    expect(ended.time_end).not.toBeNull();
    expect(await api.service(ended.services[0] ?? 0)).toMatchObject({ error_message: ended.error_message });
  });

  test('C85: a starting service shows the progress that its host reports, until it has started', async () => {
    const id = await api.submit();
    const one = await agent.only(id);
    expect(await api.service(one.service)).not.toHaveProperty('progress');
    const detail = 'pulling berth/busybox:1 45% of 60 MB';
    await agent.report({ service: one.service, generation: one.generation, state: 'preparing', detail });
    expect(await api.service(one.service)).toMatchObject({ status: 'starting', progress: detail });
    await agent.report(seen.running(one));
    expect(await api.service(one.service)).not.toHaveProperty('progress');
    await api.terminate(id);
    await agent.report(seen.gone(one));
  });

  test("H40: a service shows its own status, and its container's as last observed", async () => {
    const id = await api.submit();
    const one = await agent.only(id);
    const states = [await api.service(one.service)];
    for (const observation of [seen.created(one), seen.running(one)]) {
      await agent.report(observation);
      states.push(await api.service(one.service));
    }
    await api.terminate(id);
    states.push(await api.service(one.service));
    await agent.report(seen.exited(one, 143));
    states.push(await api.service(one.service));
    await agent.report(seen.gone(one));
    states.push(await api.service(one.service));
    expect(states.map(({ status, backend_status }) => [status, backend_status])).toEqual([
      ['starting', 'undefined'],
      ['starting', 'created'],
      ['active', 'started'],
      ['terminating', 'started'],
      ['terminating', 'dead'],
      ['inactive', 'destroyed'],
    ]);
    expect(states[2]).toMatchObject({
      ip_address: '172.18.0.2',
      backend_id: `c${one.service}`,
      execution_id: id,
    });
    // Another container may have the address from now on.
    for (const ended of states.slice(-2)) expect(ended).toMatchObject({ ip_address: '', backend_id: '' });
  });

  test('H41: discovery lists the active instances of a group, in order', async () => {
    const id = await api.submit(application(web, service({ name: 'other' })));
    const assignments = await agent.assigned(id, 3);
    const [first, second] = assignments;
    for (const group of ['web', 'no-such-group'])
      expect(await api.discovery(id, group)).toMatchObject({ dns_names: [] });
    expect(await api.endpoints(id)).toEqual([]);
    await agent.report(seen.running(second));
    expect(await api.discovery(id, 'web')).toMatchObject({ dns_names: [`web1-${id}-test`] });
    await agent.report(seen.running(first));
    expect(await api.discovery(id, 'web')).toEqual({
      service_type: 'web',
      execution_id: `${id}`,
      dns_names: [`web0-${id}-test`, `web1-${id}-test`],
    });
    await api.terminate(id);
    expect(await api.discovery(id, 'web')).toMatchObject({ dns_names: [] });
    await agent.report(...assignments.map(seen.gone));
  });

  test('H38: endpoints are pairs of name and URL, with the address of the host and the published port', async () => {
    const { id, assignments } = await running(application(web));
    const each = [
      ['Page', 'http://192.0.2.7:30080/start?at=192.0.2.7:30080'],
      ['Names', 'dns://192.0.2.7:30053'],
    ];
    expect(await api.endpoints(id)).toEqual([...each, ...each]);
    await api.terminate(id);
    expect(await api.endpoints(id)).toEqual([]);
    await agent.report(...assignments.map(seen.gone));
  });

  test('H37: a deleted execution that runs is hidden at once and stopped, and its row is removed with its logs', async () => {
    const id = await api.submit();
    const one = await agent.runs(id);
    await api.remove(id);
    for (const path of [
      `execution/${id}`,
      `service/${one.service}`,
      `service/logs/${one.service}`,
      `discovery/by_group/${id}/main`,
    ]) {
      expect((await api.http.get(path)).status, path).toBe(404);
    }
    expect(await api.executions()).not.toHaveProperty(String(id));
    await agent.released(id);
    expect(agent.all('forget')).toEqual([]);
    await agent.report(seen.gone(one));
    await eventually(() => agent.all('forget').some(({ services }) => services.includes(one.service)));
    const db = await host().openDb();
    const rows = () => db.query('SELECT id FROM executions WHERE id = ?', [id]);
    expect(await rows()).toHaveLength(1);
    await agent.reportForgotten(one.service);
    expect(await rows()).toEqual([]);
    await db.close();
  });
});
