import { beforeAll, expect, test } from 'vitest';
import type { Assignment } from '../../../shared/protocol/assignment.ts';
import { ScriptedAgent, seen } from '../../support/agents/scripted-agent.ts';
import { testClientHabits } from '../../support/clients/client-habits.ts';
import { basic, HttpClient } from '../../support/clients/http-client.ts';
import { WebClient } from '../../support/clients/web-client.ts';
import { type Json, ZoeClient } from '../../support/clients/zoe-client.ts';
import { testLogLines } from '../../support/clients/zoe-logs.ts';
import { application, service, waiting } from '../../support/fixtures/descriptions.ts';
import { addUser } from '../../support/fixtures/users.ts';
import { ADMIN_PASSWORD, hostsOf, onHosts, startedLongAgo } from '../../support/hosts/hosts.ts';

const LENGTHS: Record<string, string> = {
  queue: 'queue_length',
  running_queue: 'running_length',
  termination_queue: 'termination_queue_length',
};
onHosts(hostsOf('zoe-2018.12'), (host, { variant }) => {
  const anonymous = new HttpClient(() => host().url());
  const admin = anonymous.with(basic('admin', ADMIN_PASSWORD));
  const alice = anonymous.with(basic('alice', 'secret words'));
  const login = (username = 'admin', password = ADMIN_PASSWORD) =>
    ZoeClient.login(() => host().url(), '2018.12', username, password);

  beforeAll(() => addUser(host(), 'alice', 'secret words', 'superuser'));

  const quotaWith = async (name: string, caps: Json): Promise<number> => {
    const quota = { name, concurrent_executions: 0, memory: 0, cores: 0, ...caps };
    return (await admin.post('quota', quota)).json<{ quota_id: number }>().quota_id;
  };
  const userWith = async (username: string, quota_id: number, role_id = 2): Promise<number> => {
    const made = await admin.post('user', { username, role_id, quota_id });
    const { user_id } = made.json<{ user_id: number }>();
    await admin.post(`user/${user_id}`, { password: 'secret words' });
    return user_id;
  };

  test('H218: the zoe variants have no explanations', async () => {
    expect((await admin.get('execution/1/explain')).status).toBe(404);
    expect((await admin.post('execution/explain', { application: waiting })).status).toBe(405);
  });

  testClientHabits(host, variant);
  testLogLines(host, '2018.12');

  test('W107, W110: the start page links the JSON Schema of descriptions, and no API document, which this variant lacks', async () => {
    const { status, text } = await (await WebClient.logIn(host)).get('/start?by=description');
    expect([status, text.includes('href="/docs"')]).toEqual([200, false]);
    expect(text).toContain('href="/schema/application-3.json"');
  });

  test('H150, H160: the released command line manages users, roles and quotas', async () => {
    const client = await login();
    const FLAGS = {
      can_see_status: true,
      can_change_config: false,
      can_operate_others: false,
      can_delete_executions: true,
      can_access_api: true,
      can_customize_resources: false,
      can_access_full_zapp_shop: true,
    };
    const role_id = await client.createAccount('role', { name: 'students', ...FLAGS });
    await client.updateAccount('role', role_id, { can_see_status: false });
    expect(await client.account('role', role_id)).toEqual({
      ...{ id: role_id, name: 'students', ...FLAGS, can_see_status: false },
    });
    const caps = { concurrent_executions: 2, memory: 2 ** 33, cores: 4 };
    const quota_id = await client.createAccount('quota', { name: 'small', ...caps });
    await client.updateAccount('quota', quota_id, { cores: 3 });
    expect(await client.accounts('quota', { name: 'small' })).toEqual([
      { id: quota_id, name: 'small', ...caps, cores: 3, runtime_limit: 0 },
    ]);

    const profile = { email: 'carol@example.org', auth_source: 'internal', quota_id, role_id };
    const id = await client.createAccount('user', { username: 'carol', ...profile, fs_uid: -1 });
    const user = await client.account('user', id);
    expect(user).toEqual({
      ...{ id, username: 'carol', ...profile, enabled: true, priority: 0 },
      fs_uid: expect.any(Number),
    });
    expect(Number(user.fs_uid)).toBeGreaterThanOrEqual(1000);
    await client.updateAccount('user', id, {
      password: 'secret words',
      enabled: 1,
      role_id: '3',
      quota_id: '1',
    });
    expect((await client.accounts('user', { username: 'carol' }))[0]).toEqual({
      ...{ ...user, role_id: 3, quota_id: 1 },
    });
    expect((await login('carol', 'secret words')).userId).toBe(String(id));
    for (const enabled of [1, 'false', 'True', '1', 'False', true, 0])
      await client.updateAccount('user', id, { enabled });
    expect(await client.accounts('user', { username: 'carol', enabled: 'False' })).toHaveLength(1);
    await expect(login('carol', 'secret words')).rejects.toThrow('Wrong user name or password.');

    await client.deleteAccount('user', id);
    await client.deleteAccount('quota', quota_id);
    await client.deleteAccount('role', role_id);
    await expect(client.account('role', role_id)).rejects.toThrow('There is no such role.');
  });

  test.each([
    ['a request without credentials', 401, () => anonymous.get('execution')],
    ['a missing permission', 401, () => alice.get('user')],
    ['an unknown id', 404, () => admin.get('execution/999')],
    ['an id that is not a number', 404, () => admin.get('execution/one')],
    ['another method', 405, () => admin.send('PUT', 'info')],
    ['an invalid description', 400, () => anonymous.post('zapp_validate', {})],
  ])('H153: %s is %i, with the reason in the status line and no body', async (_, status, ask) => {
    const reply = await ask();
    expect(reply).toMatchObject({ status, text: '' });
    expect(reply.reason).toBe(reply.headers.status);
    expect(reply.reason).toMatch(/^\S.* .*\S$/);
    expect(reply.headers['content-type']).toBeUndefined();
  });

  test('H155, H159: an execution also has its size, user_id is the id, and a waiting execution is queued', async () => {
    const described = { ...waiting, size: 512 };
    const submitted = await alice.post('execution', { name: 'big', application: described });
    const { execution_id } = submitted.json<{ execution_id: number }>();
    const one = (await alice.get(`execution/${execution_id}`)).json();
    const { user } = (await alice.get('login')).json<{ user: Json }>();
    expect(user).toMatchObject({ username: 'alice', role_id: 2 });
    expect(one).toEqual({
      ...{ id: execution_id, name: 'big', status: 'queued', user_id: user.id, size: 512 },
      ...{ error_message: null, time_start: null, time_end: null, time_submit: expect.any(Number) },
      ...{ services: [expect.any(Number)], description: described },
    });
    expect((await alice.get('execution?status=queued')).json()).toEqual({ [execution_id]: one });
    expect((await alice.get(`discovery/by_group/${execution_id}/main`)).json()).toEqual({
      ...{ service_type: 'main', execution_id: String(execution_id), dns_names: [] },
    });
    await alice.delete(`execution/${execution_id}`);
  });

  test('H158: the statistics list waiting, running and ending executions, and the hosts', async () => {
    const facts = { name: 'worker3', labels: ['three'], memoryBytes: 2 ** 34, cores: 8 };
    await using agent = await ScriptedAgent.join(host(), { facts });
    const submit = async (label: string) => {
      const resources = { memory: { min: 2 ** 30, max: null }, cores: { min: 2, max: null } };
      const described = application(service({ labels: [label], resources }));
      const reply = await admin.post('execution', { name: 'x', application: described });
      return reply.json<{ execution_id: number }>().execution_id;
    };
    const ids = [await submit('three'), await submit('nowhere'), await submit('three')];
    const [running = 0, queued = 0, ending = 0] = ids;
    const started: Assignment[] = [];
    for (const id of [running, ending]) for (const one of await agent.assigned(id)) started.push(one);
    await agent.report(...started.map(seen.running));
    await admin.delete(`execution/${ending}`);
    await startedLongAgo(host(), ending);
    const statistics = (await anonymous.get('statistics/scheduler')).json();
    const lists = { queue: [queued], running_queue: [running], termination_queue: [ending] };
    expect(Object.keys(statistics).toSorted()).toEqual(
      [
        ...['queue_length', 'running_length', 'termination_queue_length', 'platform_stats'],
        'termination_threads_count',
        ...Object.keys(lists),
      ].toSorted(),
    );
    for (const [name, [id]] of Object.entries(lists)) {
      const found = statistics[name] as number[];
      expect(found.filter((one) => ids.includes(one))).toEqual([id]);
      expect(statistics[LENGTHS[name] ?? '']).toBe(found.length);
    }
    const { nodes } = statistics.platform_stats as { nodes: Json[] };
    expect(nodes.find(({ name }) => name === 'worker3')).toMatchObject({
      ...{ status: 'online', labels: ['three'], memory_total: 2 ** 34, cores_total: 8 },
      // The ending execution keeps its reservation until its container is gone.
      ...{ container_count: 1, memory_reserved: 2 ** 31, cores_reserved: 4 },
      ...{ memory_allocated: 2 ** 31, cores_allocated: 4, memory_in_use: 0, cores_in_use: 0, images: [] },
    });
    expect(statistics.platform_stats).toMatchObject({ memory_in_use: 0, cores_in_use: 0 });
    for (const id of ids) await admin.delete(`execution/${id}`);
    await agent.report(...started.map(seen.gone));
  });

  test.each<[path: string, body: Json]>([
    ['quota', { name: 'q', concurrent_executions: 1, memory: 0, cores: 0, runtime_limit: -1 }],
    ['quota/1', { runtime_limit: 8_761 }],
    ['user', { username: 'x', role_id: 'one', quota_id: 1 }],
    ['user', { username: 'x', role_id: 1, quota_id: 1, fs_uid: -2 }],
    ['user/1', { fs_uid: -1 }],
    ['user/1', { enabled: 2 }],
    ['role', { name: 'r', can_see_status: 1 }],
  ])('H160: POST %s %o is 400', async (path, body) => {
    expect((await admin.post(path, body)).status).toBe(400);
  });

  test('H160: a user may have null as email, which is none', async () => {
    const made = await admin.post('user', { username: 'nemo', email: null, role_id: 2, quota_id: 1 });
    const { user_id } = made.json<{ user_id: number }>();
    for (const [change, stored] of [['a@b.example', 'a@b.example'] as const, [null, ''] as const]) {
      expect((await admin.post(`user/${user_id}`, { email: change })).status).toBe(201);
      const { user } = (await admin.get(`user/${user_id}`)).json<{ user: Json }>();
      expect(user.email).toBe(stored);
    }
  });

  test.each([
    ['user', { username: 'nobody', role_id: 999, quota_id: 1 }, 'role'],
    ['user', { username: 'nobody', role_id: 1, quota_id: 999 }, 'quota'],
    ['user/2', { role_id: '999' }, 'role'],
    ['user/2', { quota_id: 999 }, 'quota'],
  ])('H670: POST %s %o is 404: there is no such %s', async (path, body, kind) => {
    expect(await admin.post(path, body)).toMatchObject({
      status: 404,
      reason: `There is no such ${kind}.`,
    });
  });

  test.each([0, 1.5])('H160: a quota may have a runtime limit of %d hours', async (runtime_limit) => {
    const caps = { concurrent_executions: 1, memory: 0, cores: 0, runtime_limit };
    const made = await admin.post('quota', { name: `hours-${runtime_limit}`, ...caps });
    const { quota_id } = made.json<{ quota_id: number }>();
    const { quota } = (await admin.get(`quota/${quota_id}`)).json<{ quota: Json }>();
    expect(quota).toEqual({ id: quota_id, name: `hours-${runtime_limit}`, ...caps });
    const native = (await admin.get(`/native/api/0.7/quota/${quota_id}`)).json<{ quota: Json }>();
    expect(native.quota).toMatchObject({ time_limit: 0, max_time_limit: runtime_limit * 3_600 });
    expect((await admin.post(`quota/${quota_id}`, { runtime_limit: 0, cores: 2 })).status).toBe(201);
  });

  test('H171: a submission beyond the cores or the memory of the quota is 409, with what waits', async () => {
    await userWith('gina', await quotaWith('two', { memory: 2 ** 30, cores: 2 }));
    const client = await login('gina', 'secret words');
    const of = (cores: number, memory: number, total_count = 1) => {
      const resources = { memory: { min: memory, max: null }, cores: { min: cores, max: null } };
      return application(service({ labels: ['nowhere'], resources, total_count, essential_count: 1 }));
    };
    await client.start('first', of(0.75, 2 ** 28, 2));
    await expect(client.start('second', of(1.75, 2 ** 28))).rejects.toThrow(
      'You requested 0.5 cores more than your quota allows, quota exceeded.',
    );
    await expect(client.start('second', of(0.1, 2 ** 29, 2))).rejects.toThrow(
      'You requested 268435456B memory more than your quota allows, quota exceeded.',
    );
    await client.start('second', of(0.1, 2 ** 28));
    for (const [id] of await client.list()) await client.terminate(Number(id));
  });

  test('H172: a quota or role in use is deleted if the default one allows its users nothing more', async () => {
    const roleOf = async (name: string, flags: Json) =>
      (await admin.post('role', { name, ...flags })).json<{ role_id: number }>().role_id;
    // The default quota of the tests has no caps.
    const [same, smaller] = [await quotaWith('same', {}), await quotaWith('smaller', { memory: 2 ** 33 })];
    const more = await roleOf('more', { can_access_api: true, can_see_status: true });
    const less = await roleOf('less', { can_access_api: false });
    const [moved, kept] = [await userWith('hanna', same, more), await userWith('ivo', smaller, less)];
    const client = await login('hanna', 'secret words');
    const deleted = async (path: string) => (await admin.delete(path)).status;
    expect(await deleted(`quota/${same}`)).toBe(204);
    expect(await client.list()).toEqual([]);
    expect(await deleted(`role/${more}`)).toBe(204);
    await expect(client.list()).rejects.toThrow();
    expect((await admin.get(`user/${moved}`)).json()).toMatchObject({ user: { role_id: 3, quota_id: 1 } });
    const again = await login('hanna', 'secret words');
    const id = await again.start('with the default quota', waiting);
    await again.terminate(id);
    expect([await deleted(`quota/${smaller}`), await deleted(`role/${less}`)]).toEqual([409, 409]);
    expect((await admin.get(`user/${kept}`)).json()).toMatchObject({
      user: { role_id: less, quota_id: smaller },
    });
  });

  test('H172: the default quota keeps its name, and any user reads roles and quotas by their ids', async () => {
    expect((await admin.post('quota/1', { name: 'other' })).reason).toBe('Cannot rename default quota');
    expect((await admin.delete('quota/1')).reason).toBe('Cannot delete default quota');
    expect((await admin.post('quota/1', { cores: 0 })).status).toBe(201);
    for (const kind of ['role', 'quota']) {
      expect((await alice.get(`${kind}/1`)).json()).toMatchObject({ [kind]: { id: 1 } });
      expect((await anonymous.get(`${kind}/1`)).status).toBe(401);
      expect((await alice.get(kind)).status).toBe(401);
    }
  });

  test('H172: the built-in superusers may not delete executions until an administrator allows it', async () => {
    const made = await alice.post('execution', { name: 'x', application: waiting });
    const { execution_id } = made.json<{ execution_id: number }>();
    await alice.delete(`execution/${execution_id}`);
    expect((await alice.delete(`execution/delete/${execution_id}`)).status).toBe(401);
    await admin.post('role/2', { can_delete_executions: true });
    expect((await alice.delete(`execution/delete/${execution_id}`)).status).toBe(204);
    await admin.post('role/2', { can_delete_executions: false });
  });

  test('H161: after a change of the quota a session that was known before has the new one', async () => {
    const create = (concurrent_executions: number) =>
      quotaWith(`of ${concurrent_executions}`, { concurrent_executions });
    const [few, more] = [await create(1), await create(3)];
    const user_id = await userWith('erin', few);
    const client = await login('erin', 'secret words');
    await client.start('first', waiting);
    await admin.post(`user/${user_id}`, { quota_id: more });
    await client.start('second', waiting);
    const both = [client.start('third', waiting), client.start('fourth', waiting)];
    const outcomes = await Promise.allSettled(both);
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    await admin.post(`user/${user_id}`, { quota_id: few });
    await expect(client.start('fifth', waiting)).rejects.toThrow(
      'You cannot run more than 1 executions at a time, quota exceeded.',
    );
    for (const [id] of await client.list({ user_id: client.userId })) await client.terminate(Number(id));
    await client.start('sixth', waiting);
  });
});
