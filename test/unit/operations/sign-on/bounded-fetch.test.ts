import { createServer, type RequestListener } from 'node:http';
import { expect, test } from 'vitest';
import { boundedFetch } from '../../../../control-plane/operations/sign-on/bounded-fetch.ts';
import { serving } from '../../../support/tools/serving.ts';

const serve = async (answer: RequestListener): Promise<string> =>
  `http://127.0.0.1:${await serving(createServer(answer))}/`;

const GET = { method: 'GET', headers: {}, redirect: 'manual' } as const;

test('H539: an answer of a provider is read whole, up to 512 KiB, and no redirect is followed', async () => {
  const url = await serve((request, response) => {
    const length = Number(new URL(request.url ?? '', 'http://here').searchParams.get('length'));
    if (length === 0) response.writeHead(302, { location: '/?length=1' }).end();
    else response.end('x'.repeat(length));
  });
  const most = 512 * 1024;
  expect((await (await boundedFetch(`${url}?length=${most}`, GET)).text()).length).toBe(most);
  await expect(boundedFetch(`${url}?length=${most + 1}`, GET)).rejects.toThrow('more than 524288 bytes');
  expect((await boundedFetch(`${url}?length=0`, GET)).status).toBe(302);
});

test('H539: a provider that does not answer in time is left', async () => {
  const url = await serve(() => {});
  await expect(boundedFetch(url, GET, 100)).rejects.toThrow(/timeout/i);
});
