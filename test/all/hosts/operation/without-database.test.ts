import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ScriptedAgent, seen } from '../../../support/agents/scripted-agent.ts';
import { ApiClient } from '../../../support/clients/api-client.ts';
import { HttpClient } from '../../../support/clients/http-client.ts';
import { WebClient } from '../../../support/clients/web-client.ts';
import { ADMIN_PASSWORD } from '../../../support/hosts/hosts.ts';
import { startWorkerdHost } from '../../../support/hosts/workerd/host-workerd.ts';
import { eventually } from '../../../support/tools/eventually.ts';

describe('without the database', () => {
  let host: Awaited<ReturnType<typeof startWorkerdHost>>;
  const api = new ApiClient(() => host);
  beforeAll(async () => {
    host = await startWorkerdHost({ variant: 'B', deployment: 'test', adminPassword: ADMIN_PASSWORD });
  });
  afterAll(() => host.stop());

  test('H61: requests are 503 with the reason, and succeed as soon as the database is back', async () => {
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
    await host.database.restart();
    expect((await api.execution(id)).status).toBe('queued');
    expect(await api.submit()).toBeGreaterThan(id);
  });

  test('P7: a report that cannot be committed is not acknowledged, and closes with 4503', async () => {
    const agent = await ScriptedAgent.join(host);
    const id = await api.submit();
    const [one] = await agent.assigned(id);
    if (!one) throw new Error('no assignment');
    await host.database.kill();
    await expect(agent.report(seen.running(one))).rejects.toThrow('closed with 4503');
    expect(agent.all('ack')).toEqual([]);
    await host.database.restart();
    const again = await ScriptedAgent.join(host, { inventory: [seen.running(one)] });
    expect((await api.execution(id)).status).toBe('running');
    await again.close();
  });
});

test('C131, W103: without the database a new Worker shows a page that states this, and a coordinator woken only by its alarm becomes ready once the database is back', {
  timeout: 60_000,
}, async () => {
  const env = { BERTH_LIMITS: JSON.stringify({ hostLostAfterS: 5 }) };
  const host = await startWorkerdHost({
    variant: 'B',
    deployment: 'test',
    adminPassword: ADMIN_PASSWORD,
    env,
  });
  try {
    // The alarm is set for the silence of this agent's host.
    await ScriptedAgent.join(host);
    await host.crash();
    await host.database.kill();
    await host.start();
    await eventually(async () => host.output().includes('"alarm.postponed"'));
    expect(host.output()).not.toContain('"coordinator.ready"');
    const page = await new HttpClient(() => host.url(), { accept: 'text/html' }).get('/executions');
    expect([page.status, page.headers['retry-after'], page.headers['content-type']]).toEqual([
      503,
      '1',
      'text/html; charset=utf-8',
    ]);
    expect(page.text).toContain('The database does not answer; try again later.');
    await host.database.restart();
    await eventually(async () => host.output().includes('"coordinator.ready"'));
  } finally {
    await host.stop();
  }
});
