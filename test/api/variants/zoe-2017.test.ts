import { beforeAll, expect, test } from 'vitest';
import { ScriptedAgent, seen } from '../../support/agents/scripted-agent.ts';
import { testClientHabits } from '../../support/clients/client-habits.ts';
import { basic, HttpClient } from '../../support/clients/http-client.ts';
import { ZoeClient } from '../../support/clients/zoe-client.ts';
import { testLogLines } from '../../support/clients/zoe-logs.ts';
import { application, service } from '../../support/fixtures/descriptions.ts';
import { addUser } from '../../support/fixtures/users.ts';
import { ADMIN_PASSWORD, hostsOf, onHosts, startedLongAgo } from '../../support/hosts/hosts.ts';

const http = { name: 'web', port_number: 80, protocol: 'tcp' as const, url_template: 'http://{ip_port}/' };

/** No host has the label. */
const waiting = application(service({ labels: ['nowhere'] }));

onHosts(hostsOf('zoe-2017.12'), (host, { variant }) => {
  const anonymous = new HttpClient(() => host().url());
  const admin = anonymous.with(basic('admin', ADMIN_PASSWORD));
  const alice = anonymous.with(basic('alice', 'secret words'));

  beforeAll(() => addUser(host(), 'alice', 'secret words', 'superuser'));

  testClientHabits(host, variant);
  testLogLines(host, '2017.12');

  test('H150: the released command line runs a whole session', async () => {
    const agent = await ScriptedAgent.join(host(), { facts: { name: 'worker1', labels: ['one'] } });
    const client = await ZoeClient.login(() => host().url(), '2017.12', 'alice', 'secret words');
    expect(await client.info()).toMatchObject({ api_version: '0.7' });
    const described = application(service({ ports: [http], labels: ['one'] }));
    expect(await client.validate(described)).toBe(true);
    expect(await client.validate({ ...described, services: [] })).toBe(false);

    const id = await client.start('session', described);
    expect(client.userId).toBe('alice');
    expect(await client.list({ user_id: 'alice', limit: '1' })).toEqual([
      [id, 'session', 'alice', 'starting'],
    ]);
    const [one] = await agent.assigned(id);
    if (!one) throw new Error('no assignment');
    await agent.report(seen.running(one));
    expect(await client.get(id)).toMatchObject({ status: 'running', services: [one.service] });
    expect(await client.service(one.service)).toMatchObject({
      ...{ name: 'main0', status: 'active', essential: true, backend_host: 'worker1' },
    });
    expect(await client.endpoints(id)).toEqual([['web', 'http://192.0.2.7:30080/']]);

    const logs = client.logs(one.service);
    expect((await logs.next()).value).toEqual([
      'ZOE',
      'HEADER: log file for service main0 running on host worker1',
    ]);
    const log = await agent.log(one.service);
    await log.write('2026-11-21 10:00:00 hello\n');
    expect((await logs.next()).value).toEqual(['2026-11-21', '10:00:00 hello']);

    await client.terminate(id);
    await agent.report(seen.exited(one, 143));
    await agent.report(seen.gone(one));
    log.end();
    expect(await logs.next()).toMatchObject({ done: true });
    await startedLongAgo(host(), id);
    expect(await client.get(id)).toMatchObject({ status: 'terminated' });
    await expect(client.terminate(id)).rejects.toThrow('The execution has already ended.');
    await (await ZoeClient.login(() => host().url(), '2017.12', 'admin', ADMIN_PASSWORD)).delete(id);
    expect(await client.get(id)).toBeUndefined();
    await agent.close();
  });

  test('H152: a submission is 201, and an end is 204 without a body', async () => {
    const submitted = await admin.post('execution', { name: 'x', application: waiting });
    expect(submitted.status).toBe(201);
    const { execution_id } = submitted.json<{ execution_id: number }>();
    expect(await admin.delete(`execution/${execution_id}`)).toMatchObject({ status: 204, text: '' });
    expect(await admin.delete(`execution/delete/${execution_id}`)).toMatchObject({ status: 204, text: '' });
  });

  test.each([
    ['a request without credentials', 401, () => anonymous.get('execution')],
    ['a missing permission', 401, () => alice.post('host/token', {})],
    ['an unknown id', 404, () => admin.get('execution/999')],
    ['an id that is not a number', 404, () => admin.get('service/one')],
    ['an invalid description', 400, () => anonymous.post('zapp_validate', { application: {} })],
    ['the path of users', 404, () => admin.get('user')],
    ['the path of roles', 404, () => admin.get('role')],
    ['the path of quotas', 404, () => admin.get('quota')],
  ])('H153, H159: %s is %i, with a message in JSON', async (_, status, ask) => {
    const reply = await ask();
    expect(reply.status).toBe(status);
    expect(reply.json()).toMatchObject({ message: expect.stringMatching(/\S/) });
    expect(reply.headers.status).toBeUndefined();
  });

  test('H154: zapp_validate answers a valid description with ok, and app_validate does not exist', async () => {
    const valid = await anonymous.post('zapp_validate', { application: application(service()) });
    expect([valid.status, valid.json()]).toEqual([200, { validation: 'ok' }]);
    expect((await anonymous.post('app_validate', application(service()))).status).toBe(404);
  });

  test('H155: an execution is shown as in group A', async () => {
    const submitted = await alice.post('execution', { name: 'x', application: waiting });
    const { execution_id } = submitted.json<{ execution_id: number }>();
    const one = (await alice.get(`execution/${execution_id}`)).json();
    expect(one).toEqual({
      ...{ id: execution_id, name: 'x', status: 'scheduled', user_id: 'alice' },
      ...{ error_message: null, time_start: null, time_end: null, time_submit: expect.any(Number) },
      ...{ services: [expect.any(Number)], description: waiting },
    });
    expect((await alice.get('execution?status=scheduled')).json()).toEqual({ [execution_id]: one });
    await alice.delete(`execution/${execution_id}`);
  });

  test('H156, H157: a service also has its host and restarts, and endpoints are wrapped pairs', async () => {
    const agent = await ScriptedAgent.join(host(), { facts: { name: 'worker2', labels: ['two'] } });
    const described = application(service({ ports: [http], labels: ['two'] }));
    const submitted = await admin.post('execution', { name: 'x', application: described });
    const { execution_id } = submitted.json<{ execution_id: number }>();
    const [one] = await agent.assigned(execution_id);
    if (!one) throw new Error('no assignment');
    await agent.report(seen.running(one));
    const seenService = (await admin.get(`service/${one.service}`)).json();
    expect(seenService).toMatchObject({ essential: true, backend_host: 'worker2', restart_count: 0 });
    expect(seenService).toMatchObject({ proxy_address: null });
    expect((await admin.get(`execution/endpoints/${execution_id}`)).json()).toEqual({
      endpoints: [['web', 'http://192.0.2.7:30080/']],
    });
    await admin.delete(`execution/${execution_id}`);
    await agent.report(seen.gone(one));
    await agent.close();
  });

  test('H158: the statistics list waiting and running executions, and the hosts', async () => {
    const submitted = await admin.post('execution', { name: 'x', application: waiting });
    const { execution_id } = submitted.json<{ execution_id: number }>();
    const statistics = (await anonymous.get('statistics/scheduler')).json();
    expect(statistics).toEqual({
      queue_length: (statistics.queue as number[]).length,
      queue: expect.arrayContaining([execution_id]),
      running_length: (statistics.running_queue as number[]).length,
      running_queue: expect.any(Array),
      termination_threads_count: expect.any(Number),
      platform_stats: expect.objectContaining({ nodes: expect.any(Array), memory_total: expect.any(Number) }),
    });
    await admin.delete(`execution/${execution_id}`);
  });

  test('H159: login and userinfo return role and user name', async () => {
    for (const path of ['login', 'userinfo'])
      expect((await alice.get(path)).json()).toEqual({ uid: 'alice', role: 'superuser' });
    expect((await anonymous.get('userinfo')).status).toBe(401);
  });

  test('H161: release 2017.12 has no quotas, and accepts more executions than the quota allows', async () => {
    const submit = async () => {
      const reply = await alice.post('execution', { name: 'many', application: waiting });
      expect(reply.status).toBe(201);
      return reply.json<{ execution_id: number }>().execution_id;
    };
    // The default quota allows five.
    const ids = await Promise.all(Array.from({ length: 7 }, submit));
    for (const id of ids) await alice.delete(`execution/${id}`);
  });
});
