import { expect, test } from 'vitest';
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
