import { beforeAll, expect, test } from 'vitest';
import { ApiClient } from '../../support/clients/api-client.ts';
import type { Reply } from '../../support/clients/http-client.ts';
import { sessionOf } from '../../support/clients/web-client.ts';
import { application, service } from '../../support/fixtures/descriptions.ts';
import { addUser } from '../../support/fixtures/users.ts';
import { bothGroups, onHosts, queuedIn } from '../../support/hosts/hosts.ts';

onHosts(bothGroups, (host, { variant }) => {
  const admin = new ApiClient(host);
  const alice = new ApiClient(host, 'alice', 'secret words');
  const bob = new ApiClient(host, 'bob', 'secret words');
  const queued = queuedIn(variant);

  beforeAll(async () => {
    await addUser(host(), 'alice', 'secret words', 'superuser');
    await addUser(host(), 'bob', 'secret words', 'user');
  });

  test('H30, H70: a submitted execution is queued with its description, in the words of the group', async () => {
    const described = application(
      service({ name: 'web', total_count: 2 }),
      service({ name: 'data', monitor: false }),
    );
    const beforeS = Date.now() / 1000;
    const id = await alice.submit(described, 'Über $(name)');
    const execution = await alice.execution(id);
    expect(execution).toEqual({
      id,
      name: 'Über $(name)',
      user_id: variant === 'A' ? 'alice' : 2,
      status: queued,
      description: described,
      error_message: null,
      time_submit: expect.any(Number),
      time_start: null,
      time_end: null,
      services: [expect.any(Number), expect.any(Number), expect.any(Number)],
    });
    expect(execution.time_submit).toBeGreaterThanOrEqual(Math.floor(beforeS * 1000) / 1000 - 0.001);
    expect(execution.time_submit).toBeLessThanOrEqual(Date.now() / 1000 + 0.001);
  });

  test('H30: the description is stored word for word, with every value that it may have', async () => {
    const described = application(
      service({
        environment: [['TEXT', '"quoted"\\ \u2028 \u{1F6A2} \u0007 {user_name} {{user_name}}']],
        resources: {
          memory: { min: 1, max: 9_007_199_254_740_991 },
          cores: { min: 0.25, max: 1.5 },
          shm: null,
        },
        ports: [
          {
            name: 'http',
            port_number: 80,
            protocol: 'tcp',
            url_template: 'http://{ip_port}/',
            proxy: true,
          },
        ],
        labels: ['gpu'],
        replicas: 3,
      }),
    );
    expect((await alice.execution(await alice.submit(described))).description).toEqual(described);
  });

  const good = application(service());
  const refused: [name: string, body: unknown][] = [
    ['a missing body', undefined],
    ['a list as the body', []],
    ['a missing name', { application: good }],
    ['an empty name', { name: '', application: good }],
    ['a name of 129 characters', { name: 'x'.repeat(129), application: good }],
    ['a name with a line break', { name: 'a\r\nb', application: good }],
    ['a name with NUL', { name: 'a\u0000', application: good }],
    ['a name with a C1 control character', { name: 'a\u0085', application: good }],
    ['a name with half a surrogate pair', { name: '\ud800', application: good }],
    ['a name that is not a text', { name: 7, application: good }],
    ['a missing application', { name: 'x' }],
    ['an invalid application', { name: 'x', application: { ...good, version: 2 } }],
  ];
  test.each(refused)('H31: %s is 400 and nothing is queued', async (_, body) => {
    const before = Object.keys(await admin.executions());
    expect((await alice.http.post('execution', body)).status).toBe(400);
    expect(Object.keys(await admin.executions())).toEqual(before);
  });

  test('H31: the problems of an invalid application are reported by pointers', async () => {
    const reply = await alice.http.post('execution', { name: 'x', application: { ...good, size: -1 } });
    expect(reply.json()).toMatchObject({ problems: [{ pointer: '/size' }] });
  });

  test('H32: 100 simultaneous submissions are all acknowledged, get different ids, and are all in the list', async () => {
    const login = await alice.http.get('login');
    const cookie = sessionOf(login);
    const client = alice.http.with({ cookie });
    const replies = await Promise.all(
      Array.from({ length: 100 }, (_, at) =>
        client.post('execution', { name: `many${at}`, application: good }),
      ),
    );
    expect(replies.filter(({ status }) => status !== 200)).toEqual([]);
    const ids = replies.map((reply) => reply.json<{ execution_id: number }>().execution_id);
    expect(new Set(ids).size).toBe(100);
    const list = await alice.executions();
    expect(ids.map((id) => list[id]?.name)).toEqual(ids.map((_, at) => `many${at}`));
    const services = ids.flatMap((id) => list[id]?.services ?? []);
    expect(new Set(services).size).toBe(100);
  });

  test('H33: the list maps ids to full executions of the caller only', async () => {
    const [mine, other] = [await bob.submit(), await alice.submit()];
    const list = await bob.executions();
    expect(list[mine]).toEqual(await bob.execution(mine));
    expect(list).not.toHaveProperty(String(other));
  });

  const requestsOf = (id: number | string, services: number | string): [method: string, path: string][] => [
    ['GET', `execution/${id}`],
    ['DELETE', `execution/${id}`],
    ['GET', `execution/endpoints/${id}`],
    ['GET', `service/${services}`],
    ['GET', `service/logs/${services}`],
  ];

  test("H34: another user's execution and its services answer like ones that do not exist", async () => {
    const id = await bob.submit();
    const { services } = await bob.execution(id);
    for (const [method, path] of [
      ...requestsOf(id, services[0] ?? 0),
      ['DELETE', `execution/delete/${id}`] as const,
    ]) {
      const theirs = await alice.http.send(method, path);
      const none = await alice.http.send(method, path.replace(/\d+$/, '999999'));
      expect(theirs.status, `${method} ${path}`).toBe(404);
      expect(theirs.text).toBe(none.text);
    }
    expect((await bob.execution(id)).status).toBe(queued);
  });

  test.each(['0', '-1', 'abc', '1.5', '1e3', '%20', '99999999999999999999999'])(
    'H8: the id %s is 404',
    async (id) => {
      for (const [method, path] of [...requestsOf(id, id), ['DELETE', `execution/delete/${id}`] as const]) {
        expect((await admin.http.send(method, path)).status, `${method} ${path}`).toBe(404);
      }
    },
  );

  test('H35: terminating a queued execution ends it at once', async () => {
    const id = await bob.submit();
    await bob.terminate(id);
    const execution = await bob.execution(id);
    expect(execution).toMatchObject({ status: 'terminated', error_message: null, time_start: null });
    expect(execution.time_end).toBeGreaterThanOrEqual(execution.time_submit);
  });

  test("H36: deleting is 403 without can_delete_executions, even for one's own executions, whatever the id", async () => {
    const id = await bob.submit();
    expect((await bob.http.delete(`execution/delete/${id}`)).status).toBe(403);
    expect((await bob.http.delete('execution/delete/999999')).status).toBe(403);
    const other = await alice.submit();
    expect((await bob.http.delete(`execution/delete/${other}`)).status).toBe(403);
    expect((await bob.execution(id)).status).toBe(queued);
  });

  const hidden = async (id: number, services: readonly number[]): Promise<Reply[]> =>
    Promise.all([
      alice.http.get(`execution/${id}`),
      alice.http.delete(`execution/${id}`),
      alice.http.delete(`execution/delete/${id}`),
      alice.http.get(`execution/endpoints/${id}`),
      alice.http.get(`discovery/by_group/${id}/main`),
      ...services.flatMap((one) => [alice.http.get(`service/${one}`), alice.http.get(`service/logs/${one}`)]),
    ]);

  test.each(['queued', 'ended'])('H37: a deleted execution is hidden at once if it is %s', async (state) => {
    const id = await alice.submit();
    const { services } = await alice.execution(id);
    if (state === 'ended') await alice.terminate(id);
    await alice.remove(id);
    expect((await hidden(id, services)).map(({ status }) => status)).toEqual([
      404, 404, 404, 404, 404, 404, 404,
    ]);
    expect(await alice.executions()).not.toHaveProperty(String(id));
    expect(await admin.executions()).not.toHaveProperty(String(id));
  });

  test('H39: the log of a service that never started is empty, and ends when its execution ends', async () => {
    const id = await bob.submit();
    const [one = 0] = (await bob.execution(id)).services;
    const reading = bob.http.get(`service/logs/${one}`);
    await bob.terminate(id);
    expect(await reading).toMatchObject({ status: 200, text: '' });
    expect(await bob.http.get(`service/logs/${one}`)).toMatchObject({ status: 200, text: '' });
  });

  test('H40: a service that has not started is inactive and has no container', async () => {
    const id = await bob.submit(application(service({ name: 'web', total_count: 2 })));
    const [, second = 0] = (await bob.execution(id)).services;
    expect(await bob.service(second)).toEqual({
      id: second,
      name: 'web1',
      service_group: 'web',
      execution_id: id,
      status: 'inactive',
      backend_status: 'undefined',
      ip_address: '',
      backend_id: '',
      error_message: null,
      description: service({ name: 'web', total_count: 2 }),
    });
  });
});
