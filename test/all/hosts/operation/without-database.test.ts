import { afterAll, beforeAll, expect, test } from 'vitest';
import { ScriptedAgent, seen } from '../../../support/agents/scripted-agent.ts';
import { ApiClient } from '../../../support/clients/api-client.ts';
import { WebClient } from '../../../support/clients/web-client.ts';
import { ADMIN_PASSWORD } from '../../../support/hosts/hosts.ts';
import { startWorkerdHost } from '../../../support/hosts/workerd/host-workerd.ts';
import { eventually } from '../../../support/tools/eventually.ts';

let host: Awaited<ReturnType<typeof startWorkerdHost>>;
const api = new ApiClient(() => host);
beforeAll(async () => {
  host = await startWorkerdHost({ variant: 'B', deployment: 'test', adminPassword: ADMIN_PASSWORD });
});
afterAll(() => host.stop());

test('H61, H116, H117: requests and readyz are 503 with the reason, and healthz is not; all succeed as soon as the database is back', async () => {
  const id = await api.submit();
  const browser = await WebClient.logIn(() => host);
  await host.database.kill();
  for (const path of [`execution/${id}`, `execution/${id}/explain`, `discovery/by_group/${id}/main`]) {
    const reply = await api.http.get(path);
    expect(reply.status).toBe(503);
    expect(reply.headers['retry-after']).toBe('1');
    expect(reply.json()).toEqual({
      code: 'unavailable',
      message: 'The database does not answer; try again later.',
    });
  }
  const page = await browser.get(`/executions/${id}`);
  expect([page.status, page.headers['content-type']]).toEqual([503, 'text/html; charset=utf-8']);
  expect(page.text).toContain('The database does not answer; try again later.');
  expect((await api.http.get('info')).status).toBe(200);
  expect((await api.http.get('/healthz')).status).toBe(200);
  const { status, headers, text } = await api.http.get('/readyz');
  expect([status, headers.status]).toEqual([503, 'Not ready: the database does not answer.']);
  expect(JSON.parse(text)).toEqual({ code: 'unavailable', message: headers.status });
  await host.database.restart();
  await eventually(async () => (await api.http.get('/readyz')).status === 200);
  expect((await api.execution(id)).status).toBe('queued');
  expect(await api.submit()).toBeGreaterThan(id);
});

test('P7: a report that cannot be committed is not acknowledged, and closes with 4503', async () => {
  const agent = await ScriptedAgent.join(host);
  const id = await api.submit();
  const one = await agent.only(id);
  await host.database.kill();
  await expect(agent.report(seen.running(one))).rejects.toThrow('closed with 4503');
  expect(agent.all('ack')).toEqual([]);
  await host.database.restart();
  const again = await ScriptedAgent.join(host, { inventory: [seen.running(one)] });
  expect((await api.execution(id)).status).toBe('running');
  await again.close();
});
