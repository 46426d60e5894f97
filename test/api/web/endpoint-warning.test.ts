/** The page before an endpoint to which browsers send cookies of Berth. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ScriptedAgent } from '../../support/agents/scripted-agent.ts';
import { AccountClient } from '../../support/clients/account-client.ts';
import { ApiClient } from '../../support/clients/api-client.ts';
import { WebClient } from '../../support/clients/web-client.ts';
import { application, service } from '../../support/fixtures/descriptions.ts';
import { hosts, onHosts } from '../../support/hosts/hosts.ts';

const NASTY = '"><script>alert(1)</script>';
const port = (name: string, port_number: number, url_template: string) => ({
  ...{ name, port_number, protocol: 'tcp' as const, url_template },
});

onHosts(hosts, (host) => {
  const ann = new ApiClient(host, 'ann', 'secret words');
  const admin = WebClient.ofAdmin(host);
  let agent: ScriptedAgent;
  let id: number;

  beforeAll(async () => {
    await new AccountClient(host).addUser('ann');
    agent = await ScriptedAgent.join(host(), { facts: { address: '127.0.0.1' } });
    const ports = [
      port(NASTY, 80, 'http://{ip_port}/?a=1&b=2'),
      port('Shell', 22, 'ssh://{ip_port}'),
      port('Far', 81, 'http://far.example/{ip_port}'),
    ];
    id = await ann.submit(application(service({ ports })));
    await agent.runs(id);
  });
  afterAll(() => agent.close());

  const pathOf = (url: string) => `/executions/${id}/open?url=${encodeURIComponent(url)}`;
  const near = 'http://127.0.0.1:30080/?a=1&b=2';

  test("W230: an endpoint on Berth's own host is opened from a page that warns, and names who runs it", async () => {
    const shown = (await admin.get(`/executions/${id}`)).text;
    expect(shown).toContain(`href="${pathOf(near)}"`);
    expect(shown).not.toContain(`href="${near.replace('&', '&amp;')}"`);
    expect(shown).toContain('href="http://far.example/127.0.0.1:30081"');
    const { status, text } = await admin.get(pathOf(near));
    expect(status).toBe(200);
    expect(text).toContain('what runs there can act as you');
    expect(text).toContain('only if you trust ann');
    expect(text).toContain(`href="${near.replace('&', '&amp;')}" target="_blank" rel="noopener noreferrer"`);
    expect(text).not.toContain('<script>alert');
  });

  test.each([
    'http://127.0.0.1:30081/',
    'http://evil.example/',
    'javascript:alert(1)',
    'ssh://127.0.0.1:30022',
    'http://far.example/127.0.0.1:30081',
    '',
  ])('W230: the page leads to no other address (%j)', async (url) => {
    const { status, headers, text } = await admin.get(pathOf(url));
    expect([status, headers.location]).toEqual([303, `/executions/${id}`]);
    expect(text).not.toContain('evil');
  });

  test('W230: without the address, or for an execution that is not there, the page leads nowhere', async () => {
    expect((await admin.get(`/executions/${id}/open`)).headers.location).toBe(`/executions/${id}`);
    expect((await admin.get('/executions/999999/open?url=x')).status).toBe(404);
  });
});
