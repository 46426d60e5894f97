import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ScriptedAgent } from '../../support/agents/scripted-agent.ts';
import { basic, HttpClient } from '../../support/clients/http-client.ts';
import { addUser } from '../../support/fixtures/users.ts';
import { ADMIN_PASSWORD, eitherGroup, hosts, onHosts, onHostsWith } from '../../support/hosts/hosts.ts';

const PASSWORD = 'long enough secret';
const TOKEN = 'a-token-that-is-long-enough';
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

/** The value of a sample; undefined if there is none. */
const valueIn = (text: string, sample: string): number | undefined => {
  const line = text.split('\n').find((one) => one.startsWith(`${sample} `));
  return line === undefined ? undefined : Number(line.slice(sample.length + 1));
};

onHosts(eitherGroup, (host, { kind }) => {
  const anonymous = new HttpClient(() => host().url());
  const admin = anonymous.with(basic('admin', ADMIN_PASSWORD));
  const read = async () => (await admin.get('/metrics')).text;
  let agent: ScriptedAgent | undefined;
  beforeAll(() => addUser(host(), 'alice', PASSWORD, 'user'));
  afterAll(() => agent?.close());

  test('H450: without a token, administrators may scrape, and nobody else', async () => {
    expect((await anonymous.get('/metrics')).status).toBe(401);
    expect((await anonymous.with(basic('alice', PASSWORD)).get('/metrics')).status).toBe(403);
    const reply = await admin.get('/metrics');
    expect(reply.status).toBe(200);
    expect(reply.headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect(reply.headers['cache-control']).toBe('no-store');
    expect(await admin.send('HEAD', '/metrics')).toMatchObject({ status: 200, text: '' });
    expect((await admin.post('/metrics', {})).status).toBe(405);
  });

  test('H452: requests are counted by the pattern of their route and by status, and never by what was requested', async () => {
    for (const id of [998, 999]) expect((await admin.get(`execution/${id}`)).status).toBe(404);
    expect((await anonymous.get('/nothing/at/all')).status).toBe(404);
    const text = await read();
    const route = (path: string, code: number) =>
      `berth_http_requests_total{method="GET",route="${path}",code="${code}"}`;
    expect(valueIn(text, route('/api/0.7/execution/:id', 404))).toBeGreaterThanOrEqual(2);
    expect(valueIn(text, 'berth_http_requests_total{method="",route="",code="404"}')).toBeGreaterThan(0);
    expect(text).not.toContain('nothing/at');
    expect(text).not.toContain('999"');
  });

  test('H452: on Node there are the delay of the event loop, the heap and the connections, and on workerd not', async () => {
    const text = await read();
    for (const sample of ['berth_event_loop_delay_seconds_count', 'berth_heap_used_bytes'])
      expect(valueIn(text, sample) !== undefined).toBe(kind === 'node');
    const bounds = ['connections', 'requests', 'connections_of_one_address', 'unread_answers'];
    for (const name of bounds)
      expect(
        new RegExp(`^berth_limit(_used)?(_bytes)?\\{name="${name}",setting="BERTH_`, 'm').test(text),
      ).toBe(kind === 'node');
  });
});

onHostsWith({ BERTH_METRICS: TOKEN }, hosts, (host) => {
  const anonymous = new HttpClient(() => host().url());
  test('H450: with a token, it alone opens the metrics', async () => {
    expect((await anonymous.with(bearer(TOKEN)).get('/metrics')).status).toBe(200);
    for (const headers of [{}, bearer(`${TOKEN}.`), bearer(''), basic('admin', ADMIN_PASSWORD)]) {
      const reply = await anonymous.with(headers).get('/metrics');
      expect(reply.status).toBe(401);
      expect(reply.headers['www-authenticate']).toContain('Bearer');
    }
  });
});

for (const [mode, status] of [
  ['open', 200],
  ['off', 404],
] as const)
  onHostsWith({ BERTH_METRICS: mode }, hosts, (host) => {
    test(`H450: metrics that are ${mode} are ${status} for everybody`, async () => {
      const anonymous = new HttpClient(() => host().url());
      for (const client of [anonymous, anonymous.with(basic('admin', ADMIN_PASSWORD))])
        expect((await client.get('/metrics')).status).toBe(status);
    });
  });
