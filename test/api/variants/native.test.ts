import { expect, test } from 'vitest';
import { ScriptedAgent, seen } from '../../support/agents/scripted-agent.ts';
import { basic, HttpClient } from '../../support/clients/http-client.ts';
import { application, service } from '../../support/fixtures/descriptions.ts';
import { addUser } from '../../support/fixtures/users.ts';
import { ADMIN_PASSWORD, hostsOf, onHosts, type Setup } from '../../support/hosts/hosts.ts';

const setups: readonly Setup[] = [
  { kind: 'node', variant: 'A' },
  { kind: 'workerd', variant: 'A' },
  ...hostsOf('zoe-2017.12'),
];
/** No host has the label. */
const waiting = application(service({ labels: ['nowhere'] }));

onHosts(setups, (host) => {
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

  test("H431: under Berth's own path a service shows the exit code with which it ended by itself", async () => {
    const agent = await ScriptedAgent.join(host());
    const submitted = await admin.post('/native/api/0.7/execution', {
      name: 'mine',
      application: application(service(), service({ name: 'side', monitor: false })),
    });
    const { execution_id: id } = submitted.json<{ execution_id: number }>();
    const assigned = await agent.assigned(id, 2);
    await agent.report(...assigned.map(seen.running));
    const codes = async () => {
      const reads = assigned.map((one) => admin.get(`/native/api/0.7/service/${one.service}`));
      return (await Promise.all(reads)).map((read) => read.json<{ exit_code: number | null }>().exit_code);
    };
    expect(await codes()).toEqual([null, null]);
    const [main, side] = assigned;
    if (!main || !side) throw new Error('no assignment');
    await agent.report(seen.exited(main, 3));
    await agent.released(id);
    await agent.report(seen.exited(side, 143), seen.gone(main), seen.gone(side));
    expect(await codes()).toEqual([3, null]);
    expect((await admin.get(`service/${main.service}`)).json()).not.toHaveProperty('exit_code');
    await agent.close();
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
    expect([missing.status, missing.headers.status]).toEqual([
      404,
      missing.json<{ message: string }>().message,
    ]);
    expect((await anonymous.get('/native/api/0.7/execution')).status).toBe(401);
    const nowhere = await admin.get('/native/api/0.7/zapp_validate');
    expect([nowhere.status, nowhere.headers.status]).toEqual([
      404,
      nowhere.json<{ message: string }>().message,
    ]);
  });
});
