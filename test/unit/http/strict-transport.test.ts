import { Hono } from 'hono';
import { expect, test } from 'vitest';
import { strictTransport } from '../../../control-plane/http/strict-transport.ts';

test('H326: a request that came by https itself, as on Cloudflare, counts without a proxy', async () => {
  const app = new Hono().use(strictTransport({ maxAgeS: 60, behindProxy: false }));
  app.get('/', (c) => c.text('here'));
  for (const path of ['/', '/nothing']) {
    const [https, http] = [
      await app.request(`https://berth.example${path}`),
      await app.request(`http://berth.example${path}`, { headers: { 'x-forwarded-proto': 'https' } }),
    ];
    expect(https.headers.get('strict-transport-security')).toBe('max-age=60');
    expect(http.headers.get('strict-transport-security')).toBeNull();
  }
});
