import { createServer } from 'node:http';
import { beforeEach, expect, test } from 'vitest';
import { HttpClient } from '../../support/clients/http-client.ts';
import { documentedAt } from '../../support/tools/documented.ts';
import { serving } from '../../support/tools/serving.ts';

const JSON_TYPE = { 'content-type': 'application/json; charset=utf-8' };
const info = { version: '1', deployment_name: 'test', application_format_version: 3, api_version: '0.7' };

let url: string;
let answer: { status: number; headers: Record<string, string>; body: string };
beforeEach(async () => {
  const server = createServer((_, response) => {
    response.writeHead(answer.status, answer.headers).end(answer.body);
  });
  url = `http://127.0.0.1:${await serving(server)}`;
  documentedAt(url, 'B');
});

const ask = (method: string, path: string, body?: string) =>
  new HttpClient(() => url).send(method, path, body);
const json = (value: unknown, status = 200, headers = {}) => ({
  status,
  headers: { ...JSON_TYPE, ...headers },
  body: JSON.stringify(value),
});

test('H183: answers that match the document pass, as do answers of unknown operations', async () => {
  answer = json(info);
  await ask('GET', 'info');
  await ask('GET', 'elsewhere');
  await ask('PUT', 'info');
});

test.each([
  [
    'a status',
    json({ message: 'I am a teapot' }, 418),
    '418, which contradicts /openapi.json: the document lists only the statuses 200, 400, 500, 503',
  ],
  [
    'an extra field',
    json({ ...info, more: 1 }),
    'the body at its root must NOT have additional properties {"additionalProperty":"more"}',
  ],
  ['a field of another type', json({ ...info, version: 1 }), 'the body at /version must be string'],
  [
    'a missing header',
    json({ message: 'away' }, 503, { 'retry-after': '1' }),
    'the header Status is missing',
  ],
  [
    'another content type',
    { ...json(info), headers: { 'content-type': 'text/plain' } },
    'the content type is text/plain, not application/json',
  ],
  ['no content type', { ...json(info), headers: {} }, 'the content type is missing, not application/json'],
])(
  'H183: %s that the document does not list fails, with the place and the reason',
  async (_, given, text) => {
    answer = given;
    await expect(ask('GET', 'info')).rejects.toThrow(`GET /api/0.7/info answered ${given.status}`);
    await expect(ask('GET', 'info')).rejects.toThrow(text);
  },
);

test('H183: a body where the document has none fails', async () => {
  answer = { status: 200, headers: {}, body: 'done' };
  await expect(ask('DELETE', 'execution/1')).rejects.toThrow('the answer has a body');
});

test('H183: an accepted request that the document does not allow fails', async () => {
  answer = json({ role_id: 1 });
  await ask('POST', 'role', '{"name":"role"}');
  await expect(ask('POST', 'role', '{"name":"role","color":"red"}')).rejects.toThrow(
    'the accepted request at its root must NOT have additional properties {"additionalProperty":"color"}',
  );
});

test('H183: an answer to HEAD is checked against the head of GET', async () => {
  answer = { ...json(info), body: '' };
  await ask('HEAD', 'info');
  answer = { status: 200, headers: {}, body: '' };
  await expect(ask('HEAD', 'info')).rejects.toThrow('the content type is missing');
});

test('H183: each group has its own document', async () => {
  answer = json({ role: 'admin', uid: 'admin' });
  await expect(ask('GET', 'login')).rejects.toThrow("must have required property 'user'");
  documentedAt(url, 'A');
  await ask('GET', 'login');
});
