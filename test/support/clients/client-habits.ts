/** Tests of client behaviour that every variant of the API must support. */
import { expect, test } from 'vitest';
import { application, service } from '../fixtures/descriptions.ts';
import { ADMIN_PASSWORD, type Group, type Host } from '../hosts/hosts.ts';
import { basic, HttpClient, type Reply } from './http-client.ts';

/**
 * Registers the tests for one host. node:http sends no Accept header by itself, which these tests require.
 */
export function testClientHabits(host: () => Host, variant: Group): void {
  const isZoe = variant.startsWith('zoe-');
  const [created, removed] = isZoe ? [201, 204] : [200, 200];
  const validate = isZoe ? 'zapp_validate' : 'app_validate';
  const anonymous = new HttpClient(() => host().url());
  const admin = anonymous.with(basic('admin', ADMIN_PASSWORD));
  const form = { 'content-type': 'application/x-www-form-urlencoded' };
  const described = application(service({ command: 'echo 100% 1+1', labels: ['nowhere'] }));
  const submission = JSON.stringify({ name: 'habits', application: described });

  async function submitted(reply: Reply): Promise<void> {
    expect(reply.status, reply.text || reply.reason).toBe(created);
    const id = reply.json<{ execution_id: number }>().execution_id;
    expect((await admin.get(`execution/${id}`)).json()).toMatchObject({ id, description: described });
    expect((await admin.delete(`execution/${id}`)).status).toBe(removed);
  }

  test('H151: JSON is accepted with the content type of a form', async () => {
    await submitted(await admin.with(form).send('POST', 'execution', submission));
    expect((await anonymous.with(form).send('POST', validate, JSON.stringify(described))).status).toBe(200);
  });

  test('H151: URL-encoded JSON is accepted', async () => {
    await submitted(await admin.with(form).send('POST', 'execution', encodeURIComponent(submission)));
    const wrapped = encodeURIComponent(JSON.stringify({ application: described }));
    expect((await anonymous.send('POST', validate, wrapped)).status).toBe(200);
  });

  test('H151: the whole Set-Cookie value is accepted as a cookie', async () => {
    const cookie = (await admin.get('login')).headers['set-cookie']?.[0] ?? '';
    expect(cookie).toContain('; ');
    await submitted(await anonymous.with({ cookie }).send('POST', 'execution', submission));
  });

  test.each([
    ['GET', 'login'],
    ['GET', 'execution'],
    ['POST', 'execution'],
    ['GET', 'execution/999'],
    ['DELETE', 'execution/999'],
    ['DELETE', 'execution/delete/999'],
    ['GET', 'execution/endpoints/999'],
    ['GET', 'service/999'],
    ['GET', 'service/logs/999'],
  ])('H151: %s %s accepts Basic on each call and sets the cookie', async (method, path) => {
    for (const _ of ['first', 'second']) {
      const reply = await admin.send(method, path, method === 'POST' ? '{}' : undefined);
      expect(reply.status).not.toBe(401);
      expect(reply.headers['set-cookie']?.[0]).toMatch(/^berth_session=[\w-]{43}; .*HttpOnly/);
    }
  });
}
