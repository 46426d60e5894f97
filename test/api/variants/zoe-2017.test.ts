import { beforeAll, expect, test } from 'vitest';
import { testClientHabits } from '../../support/clients/client-habits.ts';
import { basic, HttpClient } from '../../support/clients/http-client.ts';
import { testLogLines } from '../../support/clients/zoe-logs.ts';
import { waiting } from '../../support/fixtures/descriptions.ts';
import { addUser } from '../../support/fixtures/users.ts';
import { ADMIN_PASSWORD, hostsOf, onHosts } from '../../support/hosts/hosts.ts';

onHosts(hostsOf('zoe-2017.12'), (host, { variant }) => {
  const anonymous = new HttpClient(() => host().url());
  const admin = anonymous.with(basic('admin', ADMIN_PASSWORD));
  const alice = anonymous.with(basic('alice', 'secret words'));

  beforeAll(() => addUser(host(), 'alice', 'secret words', 'superuser'));

  const submit = async (client = alice): Promise<number> => {
    const reply = await client.post('execution', { name: 'x', application: waiting });
    expect(reply.status).toBe(201);
    return reply.json<{ execution_id: number }>().execution_id;
  };

  testClientHabits(host, variant);
  testLogLines(host, '2017.12');

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

  test('H155: an execution is shown as in group A', async () => {
    const execution_id = await submit();
    const one = (await alice.get(`execution/${execution_id}`)).json();
    expect(one).toEqual({
      ...{ id: execution_id, name: 'x', status: 'scheduled', user_id: 'alice' },
      ...{ error_message: null, time_start: null, time_end: null, time_submit: expect.any(Number) },
      ...{ services: [expect.any(Number)], description: waiting },
    });
    expect((await alice.get('execution?status=scheduled')).json()).toEqual({ [execution_id]: one });
    await alice.delete(`execution/${execution_id}`);
  });

  test('H158: the statistics list waiting and running executions, and the hosts', async () => {
    const execution_id = await submit(admin);
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
    // The default quota allows five.
    const ids = await Promise.all(Array.from({ length: 7 }, () => submit()));
    for (const id of ids) await alice.delete(`execution/${id}`);
  });
});
