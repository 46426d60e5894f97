/** `GET /apps/ask`: which requests come from a program of this machine. */
import { expect, test } from 'vitest';
import { readPathSite } from '../../../control-plane/core/apps/app-place.ts';
import { askRoutes } from '../../../control-plane/http/apps/app-ask.ts';
import { memoryDatabase } from '../../support/hosts/memory-database.ts';

test('H733: strangers learn nothing of applications, with a proxy and without one', async () => {
  const db = await memoryDatabase();
  const paths = readPathSite('https://apps.example.org');
  const routes = askRoutes({ db }, { publicUrl: 'https://berth.example.org', paths, sharesSite: false });
  const ask = async (remoteAddress: string | undefined, headers: Record<string, string> = {}) => {
    const env = { incoming: { socket: { remoteAddress } } };
    return (await routes.request('/apps/ask?domain=apps.example.org', { headers }, env)).status;
  };
  for (const address of ['127.0.0.1', '127.8.9.10', '::1', '::ffff:127.0.0.1'])
    expect(await ask(address), address).toBe(200);
  for (const address of ['192.0.2.7', '::ffff:192.0.2.7', '10.0.0.1', '2001:db8::1', 'fe80::1%eth0', '::'])
    expect(await ask(address), address).toBe(404);
  const forwarded = ['X-Forwarded-For', 'X-Forwarded-Proto', 'X-Forwarded-Port', 'X-Real-IP'];
  for (const name of [...forwarded, 'Via', 'Forwarded'])
    expect(await ask('127.0.0.1', { [name]: '127.0.0.1' }), name).toBe(404);
  // On Cloudflare there is no socket.
  expect(await ask(undefined, { 'cf-connecting-ip': '192.0.2.7' })).toBe(404);
  expect(await ask('192.0.2.7', { 'cf-connecting-ip': '127.0.0.1' })).toBe(404);
});
