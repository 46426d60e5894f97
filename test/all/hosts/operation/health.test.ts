import { expect, test } from 'vitest';
import { ScriptedAgent } from '../../../support/agents/scripted-agent.ts';
import { ApiClient } from '../../../support/clients/api-client.ts';
import { basic, HttpClient } from '../../../support/clients/http-client.ts';
import { ADMIN_PASSWORD, eitherGroup, onHosts } from '../../../support/hosts/hosts.ts';

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
    await using agent = await ScriptedAgent.join(host());
    const id = await api.submit();
    const one = await agent.runs(id);
    const reply = await admin.send('HEAD', `service/logs/${one.service}`);
    expect(reply).toMatchObject({ status: 200, text: '' });
    expect(reply.headers['content-type']).toBe('text/plain; charset=utf-8');
    expect(agent.logs).toEqual([]);
    await api.terminate(id);
  });
});
