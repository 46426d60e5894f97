import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ScriptedAgent, seen } from '../../../support/agents/scripted-agent.ts';
import { ApiClient } from '../../../support/clients/api-client.ts';
import { basic, HttpClient } from '../../../support/clients/http-client.ts';
import { startNodeHost } from '../../../support/hosts/host-node.ts';
import { ADMIN_PASSWORD, eitherGroup, type Host, onHosts } from '../../../support/hosts/hosts.ts';
import { type Sqld, startSqld } from '../../../support/hosts/sqld.ts';
import { startWorkerdHost } from '../../../support/hosts/workerd/host-workerd.ts';
import { eventually } from '../../../support/tools/eventually.ts';

onHosts(eitherGroup, (host) => {
  const anonymous = new HttpClient(() => host().url());
  const admin = anonymous.with(basic('admin', ADMIN_PASSWORD));

  test.each(['/healthz', '/readyz'])('H115: %s needs no credentials and returns ok', async (path) => {
    const reply = await anonymous.get(path);
    expect(reply).toMatchObject({ status: 200, text: '{"status":"ok"}' });
    expect(reply.headers['cache-control']).toBe('no-store');
    expect((await anonymous.get(`/api/0.7${path}`)).status).toBe(404);
  });

  test.each([
    ['PUT', 'info', 'GET, HEAD, OPTIONS'],
    ['GET', 'app_validate', 'POST, OPTIONS'],
    ['HEAD', 'app_validate', 'POST, OPTIONS'],
    ['PATCH', 'execution', 'GET, POST, HEAD, OPTIONS'],
    ['POST', 'execution/1', 'GET, DELETE, HEAD, OPTIONS'],
    ['PUT', 'execution/delete/1', 'DELETE, OPTIONS'],
    ['DELETE', 'service/logs/1', 'GET, HEAD, OPTIONS'],
    ['POST', '/healthz', 'GET, HEAD, OPTIONS'],
  ])('H110: %s %s is 405 with Allow', async (method, path, allow) => {
    for (const client of [anonymous, admin]) {
      const reply = await client.send(method, path);
      expect(reply.status).toBe(405);
      expect(reply.headers.allow).toBe(allow);
      if (method !== 'HEAD')
        expect(reply.json()).toEqual({ code: 'wrong-method', message: expect.stringContaining(allow) });
    }
  });

  test('H110: OPTIONS returns the methods of a path, and is 404 for an unknown path', async () => {
    const reply = await anonymous.send('OPTIONS', 'execution/1');
    expect(reply).toMatchObject({ status: 200, text: '' });
    expect(reply.headers.allow).toBe('GET, DELETE, HEAD, OPTIONS');
    expect((await anonymous.send('OPTIONS', 'nothing')).status).toBe(404);
  });

  test('H110: HEAD is GET without the body', async () => {
    const [head, get] = [await admin.send('HEAD', 'execution'), await admin.get('execution')];
    expect(head).toMatchObject({ status: 200, text: '' });
    expect(head.headers['content-type']).toBe(get.headers['content-type']);
    expect((await anonymous.send('HEAD', 'execution')).status).toBe(401);
    expect((await admin.send('HEAD', 'execution/999')).status).toBe(404);
  });

  test('H110: HEAD of a running log opens no log at the agent', async () => {
    const api = new ApiClient(host);
    const agent = await ScriptedAgent.join(host());
    const id = await api.submit();
    const [one] = await agent.assigned(id);
    if (!one) throw new Error('no assignment');
    await agent.report(seen.running(one));
    const reply = await admin.send('HEAD', `service/logs/${one.service}`);
    expect(reply).toMatchObject({ status: 200, text: '' });
    expect(reply.headers['content-type']).toBe('text/plain; charset=utf-8');
    expect(agent.logs).toEqual([]);
    await api.terminate(id);
    await agent.close();
  });
});

describe.each(['node', 'workerd'] as const)('%s without its database', (kind) => {
  let host: Host;
  let database: Sqld;
  const anonymous = new HttpClient(() => host.url());
  beforeAll(async () => {
    const options = { variant: 'B' as const, deployment: 'test', adminPassword: ADMIN_PASSWORD };
    if (kind === 'workerd') {
      const started = await startWorkerdHost(options);
      ({ database } = started);
      host = started;
    } else {
      database = await startSqld();
      host = await startNodeHost({ ...options, env: { BERTH_DATABASE_URL: database.url } });
    }
  });
  afterAll(async () => {
    await host.stop();
    if (kind === 'node') await database.stop();
  });

  test('H116, H117: healthz stays 200 without the database, and readyz is 503 with the reason until the database is back', async () => {
    expect((await anonymous.get('/readyz')).status).toBe(200);
    await database.kill();
    const reply = await anonymous.get('/readyz');
    expect(reply.status).toBe(503);
    expect(reply.json()).toEqual({
      code: 'unavailable',
      message: 'Not ready: the database does not answer.',
    });
    expect(reply.headers.status).toBe('Not ready: the database does not answer.');
    expect((await anonymous.get('/healthz')).status).toBe(200);
    await database.restart();
    await eventually(async () => (await anonymous.get('/readyz')).status === 200);
  });
});
