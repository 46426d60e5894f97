import { buffer } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { decodeFrame, FrameSplitter } from '../../../shared/streams/log-frames.ts';
import { ScriptedAgent, seen } from '../../support/agents/scripted-agent.ts';
import { ApiClient } from '../../support/clients/api-client.ts';
import { basic, HttpClient } from '../../support/clients/http-client.ts';
import { application, service, waiting } from '../../support/fixtures/descriptions.ts';
import { addUser } from '../../support/fixtures/users.ts';
import { ADMIN_PASSWORD, hostsOf, onHosts } from '../../support/hosts/hosts.ts';

onHosts([...hostsOf('A'), ...hostsOf('zoe-2017.12')], (host) => {
  const anonymous = new HttpClient(() => host().url());
  const admin = anonymous.with(basic('admin', ADMIN_PASSWORD));

  test("H430: executions have group B's words under Berth's own path, and are the same ones", async () => {
    const login = (await admin.get('/native/api/0.7/login')).json<{
      user: { id: number; username: string };
    }>();
    expect(login.user.username).toBe('admin');
    const submitted = await admin.post('/native/api/0.7/execution', { name: 'mine', application: waiting });
    const { execution_id: id } = submitted.json<{ execution_id: number }>();
    expect(submitted.status).toBe(200);
    expect((await admin.get(`/native/api/0.7/execution/${id}`)).json()).toMatchObject({
      ...{ id, status: 'queued', user_id: login.user.id },
    });
    expect((await admin.get(`execution/${id}`)).json()).toMatchObject({ id, user_id: 'admin' });
    expect((await admin.get(`/native/api/0.7/execution/${id}/explain`)).status).toBe(200);
    expect((await admin.delete(`/native/api/0.7/execution/${id}`)).status).toBe(200);
  });

  test("H657: in lists under Berth's own path a queued execution has what it waits for, and in no other list", async () => {
    const submitted = await admin.post('/native/api/0.7/execution', { name: 'mine', application: waiting });
    const { execution_id: id } = submitted.json<{ execution_id: number }>();
    const { waiting_for } = (await admin.get(`/native/api/0.7/execution/${id}/explain`)).json<{
      waiting_for: string[];
    }>();
    expect(waiting_for).not.toEqual([]);
    const listed = async (path: string) => {
      const list = (await admin.get(path)).json<Record<number, { waiting_for?: string[] }>>();
      return list[id];
    };
    expect(await listed('/native/api/0.7/execution')).toMatchObject({ id, waiting_for });
    expect(await listed('/native/api/0.7/execution?status=queued&limit=1000')).toMatchObject({ waiting_for });
    expect(await listed('execution')).not.toHaveProperty('waiting_for');
    const one = await admin.get(`/native/api/0.7/execution/${id}`);
    expect(one.json()).not.toHaveProperty('waiting_for');
    expect((await admin.delete(`/native/api/0.7/execution/${id}`)).status).toBe(200);
    expect(await listed('/native/api/0.7/execution')).not.toHaveProperty('waiting_for');
  });

  test("H658: under Berth's own path the last hour of a host is there for those who may see its page", async () => {
    await using agent = await ScriptedAgent.join(host(), { facts: { name: 'measured' } });
    await agent.use({ memoryBytes: 3 * 2 ** 30, cores: 0.25 });
    const { id } = await new ApiClient(host).host('measured');
    const path = `/native/api/0.7/host/${id}/usage`;
    const usage = (await admin.get(path)).json<{ samples: object[] }>();
    expect(usage).toEqual({
      ...{ samples: expect.any(Array), memory_total: expect.any(Number), cores_total: expect.any(Number) },
    });
    expect(usage.samples.at(-1)).toEqual({
      time: expect.any(Number),
      ...{ memory_reserved: 0, memory_used: 3 * 2 ** 30, cores_reserved: 0, cores_used: 0.25 },
    });
    await addUser(host(), 'onlooker', 'secret words', 'user');
    expect((await anonymous.with(basic('onlooker', 'secret words')).get(path)).status).toBe(403);
    expect((await anonymous.get(path)).status).toBe(401);
    expect((await admin.get('/native/api/0.7/host/999/usage')).status).toBe(404);
    expect((await admin.get(`host/${id}/usage`)).status).toBe(404);
  });

  test('H432: the output of several services is a stream of frames, which continues from any position', async () => {
    await using agent = await ScriptedAgent.join(host());
    const described = application(service({ total_count: 2, essential_count: 2 }));
    const submitted = await admin.post('/native/api/0.7/execution', { name: 'mine', application: described });
    const { execution_id: id } = submitted.json<{ execution_id: number }>();
    const [one, two] = await agent.assigned(id, 2);
    if (!one || !two) throw new Error('no assignment');
    await agent.report(seen.running(one), seen.running(two));
    const path = `/native/api/0.7/execution/${id}/logs`;
    const reading = admin.open('GET', `${path}?from=${one.service}.1.0,${two.service}.1.3`);
    const [first, second] = [await agent.log(one.service), await agent.log(two.service)];
    expect([first.opened, second.opened]).toMatchObject([
      { offset: 0, format: 'raw' },
      { offset: 3, format: 'raw' },
    ]);
    await first.write('first\n');
    await second.write('second\n');
    await agent.report(seen.exited(one, 0), seen.exited(two, 0));
    for (const log of [first, second]) log.end();
    const frames = new FrameSplitter().push(await buffer(await reading)).map(decodeFrame);
    const of = (service: number) => frames.filter((frame) => frame.service === service);
    expect(of(one.service).map(({ payload, position }) => [String(Buffer.from(payload)), position])).toEqual([
      ['first\n', { generation: 1, offset: 6 }],
      [JSON.stringify({ ended: true }), expect.anything()],
    ]);
    expect(of(two.service)[0]?.position).toEqual({ generation: 1, offset: 10 });
    const timed = admin.open('GET', `${path}?from=${one.service}.1.6&timestamps=true`);
    expect((await agent.log(one.service, 1)).opened).toMatchObject({ offset: 6, format: 'timestamps' });
    (await agent.log(one.service, 1)).end();
    await buffer(await timed);
    expect((await admin.get(`${path}?from=1`)).status).toBe(400);
    expect((await admin.get(`${path}?from=${one.service + 2}.1.0`)).status).toBe(404);
    expect((await anonymous.get(`${path}?from=${one.service}.1.0`)).status).toBe(401);
    expect((await admin.get(`execution/${id}/logs?from=${one.service}.1.0`)).status).toBe(404);
  });

  test("H430: users, roles and quotas have endpoints under Berth's own path", async () => {
    await addUser(host(), 'alice', 'secret words', 'user');
    const users = (await admin.get('/native/api/0.7/user?username=alice')).json<
      Record<string, { username: string }>
    >();
    expect(Object.values(users).map(({ username }) => username)).toEqual(['alice']);
    expect((await admin.get('/native/api/0.7/quota')).status).toBe(200);
    expect((await admin.post('/native/api/0.7/app_validate', { application: waiting })).status).toBe(200);
  });

  test("H430: under Berth's own path errors have group B's form", async () => {
    const missing = await admin.get('/native/api/0.7/execution/987654');
    expect(missing.status).toBe(404);
    expect(missing.headers.status).toEqual(missing.json<{ message: string }>().message);
    expect((await anonymous.get('/native/api/0.7/execution')).status).toBe(401);
    const nowhere = await admin.get('/native/api/0.7/zapp_validate');
    expect(nowhere.status).toBe(404);
    expect(nowhere.headers.status).toEqual(nowhere.json<{ message: string }>().message);
  });
});
