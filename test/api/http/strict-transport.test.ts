import { expect, onTestFinished, test } from 'vitest';
import { basic, HttpClient } from '../../support/clients/http-client.ts';
import { PAGE } from '../../support/clients/web-client.ts';
import { ADMIN_PASSWORD, hosts, onHosts, startHost } from '../../support/hosts/hosts.ts';

const HTTPS = { 'x-forwarded-proto': 'https' };
const PATHS = ['info', 'login', 'execution/999', '/login', '/executions', '/nothing', '/healthz', '/docs'];

async function behindProxy(settings: Record<string, string> = {}): Promise<HttpClient> {
  const env = { BERTH_TRUST_PROXY: 'on', ...settings };
  const host = await startHost({ kind: 'node', variant: 'B' }, env);
  onTestFinished(() => host.stop());
  return new HttpClient(() => host.url());
}

const headerOf = async (client: HttpClient, path: string) =>
  (await client.get(path)).headers['strict-transport-security'];

test('H326: behind a trusted proxy every answer to a client that speaks https has Strict-Transport-Security, and no other', async () => {
  const client = await behindProxy();
  for (const path of PATHS)
    for (const one of [client, client.with(PAGE), client.with(basic('admin', ADMIN_PASSWORD))]) {
      expect(await headerOf(one.with(HTTPS), path), path).toBe('max-age=31536000');
      expect(await headerOf(one, path), path).toBeUndefined();
      expect(await headerOf(one.with({ 'x-forwarded-proto': 'http' }), path), path).toBeUndefined();
    }
});

test('H326: BERTH_LIMITS.hstsMaxAgeS sets its seconds, and 0 leaves it out', async () => {
  for (const [hstsMaxAgeS, header] of [
    [600, 'max-age=600'],
    [0, undefined],
  ] as const) {
    const client = await behindProxy({ BERTH_LIMITS: JSON.stringify({ hstsMaxAgeS }) });
    expect(await headerOf(client.with(HTTPS), 'info')).toBe(header);
  }
});

onHosts(hosts, (host) => {
  test('H326: without a trusted proxy the header of a client does not count', async () => {
    const client = new HttpClient(() => host().url(), HTTPS);
    for (const path of PATHS) expect(await headerOf(client, path), path).toBeUndefined();
  });
});
