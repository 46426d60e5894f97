/** What the variants of both releases of Zoe Analytics have in common. */
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { ScriptedAgent, seen } from '../../support/agents/scripted-agent.ts';
import { basic, HttpClient, type Reply } from '../../support/clients/http-client.ts';
import { ZoeClient } from '../../support/clients/zoe-client.ts';
import { application, service, waiting } from '../../support/fixtures/descriptions.ts';
import { addUser } from '../../support/fixtures/users.ts';
import { ADMIN_PASSWORD, hostsOf, onHosts, startedLongAgo, writeRow } from '../../support/hosts/hosts.ts';

const http = { name: 'web', port_number: 80, protocol: 'tcp' as const, url_template: 'http://{ip_port}/' };

onHosts([...hostsOf('zoe-2018.12'), ...hostsOf('zoe-2017.12')], (host, { variant }) => {
  const isLater = variant === 'zoe-2018.12';
  const anonymous = new HttpClient(() => host().url());
  const admin = anonymous.with(basic('admin', ADMIN_PASSWORD));
  const reasonOf = (reply: Reply) => (isLater ? reply.reason : reply.json().message);
  const validate = (described: object) =>
    anonymous.post('zapp_validate', isLater ? described : { application: described });
  const submit = async (described: object, client = admin): Promise<number> => {
    const reply = await client.post('execution', { name: 'x', application: described });
    expect(reply.status).toBe(201);
    return reply.json<{ execution_id: number }>().execution_id;
  };

  test("H630: another platform's API has no secrets at its paths; Berth's own path does", async () => {
    for (const kind of ['secret', 'file']) {
      expect((await admin.get(kind)).status).toBe(404);
      expect((await admin.get(`/native/api/0.7/${kind}`)).json()).toEqual({});
    }
  });

  test('H150: the released command line runs a whole session', async () => {
    await addUser(host(), 'alice', 'secret words', 'superuser');
    await using agent = await ScriptedAgent.join(host(), { facts: { name: 'worker1', labels: ['one'] } });
    const login = (username: string, password: string) =>
      ZoeClient.login(() => host().url(), isLater ? '2018.12' : '2017.12', username, password);
    const client = await login('alice', 'secret words');
    expect(await client.info()).toMatchObject({ api_version: '0.7' });
    const helper = service({ name: 'helper', monitor: false, labels: ['one'] });
    const described = application(service({ ports: [http], labels: ['one'] }), helper);
    expect(await client.validate(described)).toBe(true);
    for (const wrong of [{ version: 2 as 3 }, { services: [] }])
      expect(await client.validate({ ...described, ...wrong })).toBe(false);

    const id = await client.start('session', described);
    const userId = isLater ? Number(client.userId) : 'alice';
    expect(await client.list({ user_id: client.userId, status: 'starting', limit: '1' })).toEqual([
      [id, 'session', userId, 'starting'],
    ]);
    for (const one of await agent.assigned(id, 2)) await agent.report(seen.running(one));
    const execution = await client.get(id);
    expect(execution).toMatchObject({ id, status: 'running', error_message: null, time_end: null });
    const services = execution?.services as number[];
    const [first = 0, second = 0] = services;
    expect(await client.service(first)).toMatchObject({
      ...{ name: 'main0', status: 'active', backend_status: 'started' },
      ...{ essential: true, backend_host: 'worker1' },
    });
    expect(await client.endpoints(id)).toEqual([['web', 'http://192.0.2.7:30080/']]);

    const logs = client.logs(second);
    expect((await logs.next()).value).toEqual([
      'ZOE',
      'HEADER: log file for service helper0 running on host worker1',
    ]);
    const log = await agent.log(second);
    await log.write('2026-11-21 10:00:00 hello, you\n');
    expect((await logs.next()).value).toEqual(['2026-11-21', '10:00:00 hello, you']);

    await client.terminate(id);
    await startedLongAgo(host(), id);
    expect(await client.get(id)).toMatchObject({ status: 'cleaning up' });
    for (const one of services) {
      await agent.report(seen.exited({ service: one, generation: 1 }, 143));
      await agent.report(seen.gone({ service: one, generation: 1 }));
    }
    log.end();
    expect(await logs.next()).toMatchObject({ done: true });
    await startedLongAgo(host(), id);
    expect(await client.get(id)).toMatchObject({ status: 'terminated', time_end: expect.any(Number) });
    await expect(client.terminate(id)).rejects.toThrow('The execution has already ended.');
    await (await login('admin', ADMIN_PASSWORD)).delete(id);
    expect(await client.get(id)).toBeUndefined();
  });

  test('H152: a creation or change is 201, and a deletion is 204, without a body', async () => {
    const execution_id = await submit(waiting);
    expect(await admin.delete(`execution/${execution_id}`)).toMatchObject({ status: 204, text: '' });
    expect(await admin.delete(`execution/delete/${execution_id}`)).toMatchObject({ status: 204, text: '' });
    if (!isLater) return;
    const made = await admin.post('role', { name: 'statuses' });
    expect(made.status).toBe(201);
    const path = `role/${made.json<{ role_id: number }>().role_id}`;
    expect(await admin.post(path, { can_see_status: true })).toMatchObject({ status: 201, text: '' });
    expect(await admin.delete(path)).toMatchObject({ status: 204, text: '' });
  });

  test('H154: zapp_validate answers a valid description with ok, and app_validate does not exist', async () => {
    const described = application(service());
    const valid = await validate(described);
    expect([valid.status, valid.json()]).toEqual([200, { validation: 'ok' }]);
    expect((await anonymous.post('app_validate', described)).status).toBe(404);
  });

  test('H156, H157: a service also has its host and restarts, and an endpoint is wrapped', async () => {
    await using agent = await ScriptedAgent.join(host(), { facts: { name: 'worker2', labels: ['two'] } });
    const pair = { total_count: 2, essential_count: 1, labels: ['two'], ports: [http] };
    const id = await submit(application(service(pair)));
    const one = await agent.only(id);
    const { services } = (await admin.get(`execution/${id}`)).json<{ services: number[] }>();
    const extra = { proxy_address: null, restart_count: 0 };
    expect((await admin.get(`service/${services[0]}`)).json()).toMatchObject({
      ...{ ...extra, essential: true, backend_host: 'worker2' },
    });
    expect((await admin.get(`service/${services[1]}`)).json()).toMatchObject({
      ...{ ...extra, essential: false, backend_host: null },
    });
    await agent.report(seen.running(one));
    expect((await admin.get(`execution/endpoints/${id}`)).json()).toEqual({
      endpoints: [['web', 'http://192.0.2.7:30080/', ...(isLater ? [null] : [])]],
    });
    await admin.delete(`execution/${id}`);
    await agent.report(seen.gone(one));
  });

  test('H163: an active execution is not deleted, an ended one not terminated, and both are 400', async () => {
    const id = await submit(waiting);
    const refused = await admin.delete(`execution/delete/${id}`);
    expect([refused.status, reasonOf(refused)]).toEqual([400, 'Cannot delete an active execution']);
    expect((await admin.get(`execution/${id}`)).json()).toMatchObject({ id, time_end: null });

    expect((await admin.delete(`execution/${id}`)).status).toBe(204);
    const late = await admin.delete(`execution/${id}`);
    expect([late.status, reasonOf(late)]).toEqual([400, 'The execution has already ended.']);
    expect((await admin.delete(`execution/delete/${id}`)).status).toBe(204);
    expect((await admin.delete(`execution/delete/${id}`)).status).toBe(404);
  });

  test('H168, H40: an execution is seen running until 3 s after its start, and everything agrees', async () => {
    await using agent = await ScriptedAgent.join(host(), { facts: { name: 'early1', labels: ['early'] } });
    const id = await submit(application(service({ labels: ['early'] })));
    const one = await agent.only(id);
    await agent.report(seen.running(one), seen.exited(one, 1), seen.gone(one));
    const idsOf = async (query: string) =>
      Object.keys((await admin.get(`execution?${query}`)).json()).filter((key) => key === `${id}`);
    const running = async () =>
      (await admin.get('statistics/scheduler')).json<{ running_queue: number[] }>().running_queue;
    const startedAt = (startMs: number) =>
      writeRow(host(), 'UPDATE executions SET time_start_ms = ?, time_end_ms = ? WHERE id = ?', [
        ...[startMs, startMs + 1, id],
      ]);
    // Another 3 s, however slow the machine is.
    await startedAt(Date.now() + 60_000);
    expect((await admin.get(`execution/${id}`)).json()).toMatchObject({
      ...{ status: 'running', error_message: null, time_start: expect.any(Number), time_end: null },
    });
    const ofService = { status: 'active', backend_status: 'started', error_message: null };
    expect((await admin.get(`service/${one.service}`)).json()).toMatchObject(ofService);
    expect(await idsOf('status=running')).toHaveLength(1);
    expect(await idsOf('status=running&limit=1')).toHaveLength(1);
    for (const none of ['status=error', 'later_than_end=1', 'earlier_than_end=99999999999'])
      expect(await idsOf(none), none).toEqual([]);
    expect(await running()).toContain(id);
    expect((await admin.delete(`execution/${id}`)).status).toBe(204);
    expect((await admin.delete(`execution/delete/${id}`)).status).toBe(400);

    await startedAt(Date.now() - 3_000);
    expect((await admin.get(`execution/${id}`)).json()).toMatchObject({
      ...{ status: 'error', error_message: expect.any(String), time_end: expect.any(Number) },
    });
    // Another container may have its address now (H40).
    const ended = { status: 'inactive', ip_address: null, backend_id: null };
    expect((await admin.get(`service/${one.service}`)).json()).toMatchObject(ended);
    expect(await idsOf('status=running')).toEqual([]);
    for (const found of ['status=error', 'later_than_end=1']) expect(await idsOf(found)).toHaveLength(1);
    expect(await running()).not.toContain(id);
    expect((await admin.delete(`execution/${id}`)).status).toBe(400);
    expect((await admin.delete(`execution/delete/${id}`)).status).toBe(204);
  });

  test('H163: who may not delete an execution does not learn whether it is active', async () => {
    const id = await submit(waiting);
    await addUser(host(), 'mallory', 'secret words', 'user');
    const mallory = anonymous.with(basic('mallory', 'secret words'));
    expect((await mallory.delete(`execution/delete/${id}`)).status).toBe(401);
    await admin.delete(`execution/${id}`);
  });

  /** A user with a session, which 2018.12 and 2017.12 open alike. */
  async function withSession(name: string) {
    await addUser(host(), name, 'secret words', 'user');
    const [id = ''] = Object.keys((await admin.get(`/native/api/0.7/user?username=${name}`)).json());
    const { headers } = await anonymous.with(basic(name, 'secret words')).get('login');
    const cookie = headers['set-cookie']?.join(', ') ?? '';
    return { id, cookie, client: anonymous.with({ cookie }) };
  }

  test('H169: a session admits to executions for 30 days, and to nothing else after 12 h', async () => {
    const { id, cookie, client } = await withSession('dora');
    expect(cookie).toContain('Max-Age=2592000');
    await writeRow(host(), 'UPDATE sessions SET full_until_ms = 1 WHERE user_id = ?', [Number(id)]);
    const execution_id = await submit(waiting, client);
    const { services } = (await client.get(`execution/${execution_id}`)).json<{ services: number[] }>();
    expect((await client.get(`service/${services[0]}`)).status).toBe(200);
    expect((await client.delete(`execution/${execution_id}`)).status).toBe(204);
    const others = ['login', 'host', '/native/api/0.7/execution', '/native/api/0.7/token'];
    for (const path of isLater ? [...others, `user/${id}`, 'role/1', 'quota/1'] : [...others, 'userinfo'])
      expect([path, (await client.get(path)).status]).toEqual([path, 401]);
    expect((await client.get('/account')).status).toBe(303);

    expect((await admin.post(`/native/api/0.7/user/${id}`, { enabled: false })).status).toBe(200);
    expect((await client.get(`execution/${execution_id}`)).status).toBe(401);
    expect((await client.post('execution', { name: 'x', application: waiting })).status).toBe(401);
  });

  test('H170: a log ends cleanly with a line that says so when its reader loses access', async () => {
    const { id, client } = await withSession('erika');
    await using agent = await ScriptedAgent.join(host(), { facts: { name: 'ends1', labels: ['ends'] } });
    const described = application(service({ labels: ['ends'] }));
    const one = await agent.runs(await submit(described, client));
    const stream = await client.open('GET', `service/logs/${one.service}`);
    const received = text(stream);
    await (await agent.log(one.service)).write('2026-11-21 10:00:00 cut in the mid');
    const change = { password: 'other secret words' };
    expect((await admin.post(`/native/api/0.7/user/${id}`, change)).status).toBe(200);
    expect((await received).split('\n')).toEqual([
      ...[expect.stringMatching(/^ZOE HEADER: /), '2026-11-21 10:00:00 cut in the mid'],
      ...[expect.stringMatching(/^ZOE FOOTER: .* log in again/), ''],
    ]);
    await admin.delete(`execution/${one.execution}`);
    await agent.report(seen.gone(one));
  });

  test("H173: another user's execution and its services are 401 Unauthorized, and an unknown one is 404", async () => {
    const id = await submit(waiting);
    const { services } = (await admin.get(`execution/${id}`)).json<{ services: number[] }>();
    const { client } = await withSession('felix');
    const paths = [`execution/${id}`, `service/${services[0]}`, `service/logs/${services[0]}`];
    for (const reply of [
      ...(await Promise.all([...paths, `execution/endpoints/${id}`].map((path) => client.get(path)))),
      await client.delete(`execution/${id}`),
    ])
      expect([reply.status, reasonOf(reply)]).toEqual([401, 'Unauthorized']);
    expect((await client.get('execution/99999')).status).toBe(404);
    expect((await client.get(`/native/api/0.7/execution/${id}`)).status).toBe(404);
    await admin.delete(`execution/${id}`);
  });

  test('H164: the group all of discovery is every group, and 2018.12 requires credentials', async () => {
    await using agent = await ScriptedAgent.join(host(), { facts: { name: 'zoe1', labels: ['zoe'] } });
    const place = { labels: ['zoe'] };
    const id = await submit(
      application(service(place), service({ ...place, name: 'other', monitor: false })),
    );
    const started = await agent.assigned(id, 2);
    await agent.report(...started.map(seen.running));
    const found = async (group: string) =>
      (await admin.get(`discovery/by_group/${id}/${group}`)).json<{ dns_names: string[] }>().dns_names;
    const names = [`main0-${id}-test`, `other0-${id}-test`];
    expect(await found('all')).toEqual(names);
    expect(await found('other')).toEqual(names.slice(1));
    expect((await anonymous.get(`discovery/by_group/${id}/all`)).status).toBe(isLater ? 401 : 200);
    await admin.delete(`execution/${id}`);
    await agent.report(...started.map(seen.gone));
  });

  test('H166: filters of the list are read as the earlier platform does', async () => {
    await addUser(host(), 'carol', 'secret words', 'user');
    const carol = anonymous.with(basic('carol', 'secret words'));
    const id = await submit(waiting, carol);
    const { time_submit: at } = (await carol.get(`execution/${id}`)).json<{ time_submit: number }>();
    const idsOf = async (client: HttpClient, query: string) => {
      const reply = await client.get(`execution?${query}`);
      expect([query, reply.status]).toEqual([query, 200]);
      return Object.keys(reply.json()).map(Number);
    };
    for (const limit of ['0', '-1', '5']) expect(await idsOf(carol, `limit=${limit}`)).toEqual([id]);
    for (const side of ['earlier', 'later'])
      expect(await idsOf(carol, `${side}_than_submit=${at}`), side).toEqual([id]);
    expect(await idsOf(carol, `user_id=${isLater ? 1 : 'admin'}`)).toEqual(isLater ? [id] : []);
    for (const nobody of ['9999', 'nobody']) expect(await idsOf(admin, `user_id=${nobody}`)).toEqual([]);
    await carol.delete(`execution/${id}`);
  });

  test('H17, H150: a login by cookie sets the cookie again, which goes on to admit', async () => {
    await addUser(host(), 'nora', 'secret words', 'user');
    const cookieOf = ({ headers }: Reply) => String(headers['set-cookie']);
    const first = cookieOf(await anonymous.with(basic('nora', 'secret words')).get('login'));
    const session = anonymous.with({ cookie: first });
    const again = cookieOf(await session.get('login'));
    expect(again).toBe(first);
    expect((await anonymous.with({ cookie: again }).get('execution')).status).toBe(200);
    expect((await session.get('execution')).headers).not.toHaveProperty('set-cookie');
  });

  test('H31: an empty name has one problem', async () => {
    const reply = await admin.post('execution', { name: '', application: application() });
    expect(reply.status).toBe(400);
    expect(isLater ? reply.reason : reply.text).not.toContain('control characters');
  });

  test('H154, H739: descriptions of the earlier platform are valid, and come back with their commands', async () => {
    const resources = { memory: { min: 2 ** 26, max: 1 }, cores: { min: 0.5, max: 0.1 }, shm_size: 1024 };
    const described = {
      ...application(),
      services: [
        {
          ...service({ labels: ['nowhere'], command: "awk '{print}' {user_name}" }),
          ...{ resources, volumes: [{ name: 'data', path: '/data', read_only: false, type: 'x' }] },
          ports: [{ name: 'bolt', port_number: 7687, protocol: 'tcp', url_template: 'bolt://{ip_port}' }],
        },
      ],
    };
    expect((await validate(described)).status).toBe(200);
    const id = await submit(described);
    type Shown = { services: number[]; description: { services: { command: string }[] } };
    const execution = (await admin.get(`execution/${id}`)).json<Shown>();
    expect(execution.description.services[0]?.command).toBe("awk '{print}' '{user_name}'");
    const one = (await admin.get(`service/${execution.services[0]}`)).json<{ description: object }>();
    expect(one).toMatchObject({
      ip_address: null,
      backend_id: null,
      description: { command: "awk '{print}' '{user_name}'", resources: { memory: { max: 2 ** 26 } } },
    });
    const own = (await admin.get(`/native/api/0.7/execution/${id}`)).json<Shown>();
    expect(own.description.services[0]?.command).toBe("awk '{{print}}' '{{user_name}}'");
    await admin.delete(`execution/${id}`);
  });

  test('H167: the name of an execution may have 1,000 characters', async () => {
    const name = `\t${'n'.repeat(999)}`;
    const made = await admin.post('execution', { name, application: waiting });
    expect(made.status).toBe(201);
    const { execution_id: id } = made.json<{ execution_id: number }>();
    expect((await admin.get(`execution/${id}`)).json()).toMatchObject({ name });
    await admin.delete(`execution/${id}`);
    expect((await admin.post('execution', { name: `${name}n`, application: waiting })).status).toBe(400);
  });

  test('H165: info tells the version of the release, and OPTIONS is 204', async () => {
    expect((await anonymous.get('info')).json()).toMatchObject({ version: variant.replace('zoe-', '') });
    const options = await anonymous.send('OPTIONS', 'execution');
    expect([options.status, options.headers.allow]).toEqual([204, expect.stringContaining('POST')]);
  });
});
