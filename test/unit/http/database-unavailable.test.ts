import { expect, test } from 'vitest';
import { type AppDeps, createApp } from '../../../control-plane/app.ts';
import { variants } from '../../../control-plane/http/variants/choose.ts';
import { DatabaseError } from '../../../control-plane/store/db/db.ts';

const logged: string[] = [];
/** The app of a Worker that starts while the database is unavailable. */
const app = createApp({
  variant: variants.B,
  deploymentName: 'test',
  nowMs: () => 0,
  log: (event: string) => logged.push(event),
  prepare: () => Promise.reject(new DatabaseError('unavailable', 'the network is down')),
} as unknown as AppDeps);

const ask = async (path: string, accept: string, method = 'GET') => {
  const reply = await app.request(path, { method, headers: { accept } });
  const [type] = reply.headers.get('content-type')?.split(';') ?? [];
  return [reply.status, type, reply.headers.get('retry-after'), await reply.text()] as const;
};
const message = 'The database does not answer; try again later.';

test.each([
  ['GET', '/executions'],
  ['GET', '/executions/7/logs'],
  ['POST', '/login'],
])('W103: without a database a browser gets a page with the reason: %s %s', async (method, path) => {
  const [status, type, retryAfter, text] = await ask(path, 'text/html,*/*;q=0.8', method);
  expect([status, type, retryAfter]).toEqual([503, 'text/html', '1']);
  expect(text).toContain(message);
  expect(logged).toContain('request.failed');
});

test('H61: without a database a program gets the error of the API on every path', async () => {
  const body = JSON.stringify({ code: 'unavailable', message });
  const paths = { '/api/0.7/info': 'text/html', '/executions': '*/*', '/agent/v1/register': 'text/html' };
  for (const [path, accept] of Object.entries(paths))
    expect(await ask(path, accept)).toEqual([503, 'application/json', '1', body]);
});

test('H116, H180, H186: health and documents need no database', async () => {
  for (const path of ['/healthz', '/openapi.json', '/native/openapi.json'])
    expect((await ask(path, 'text/html'))[0], path).toBe(200);
});
