/** Submissions with the header Idempotency-Key, on both hosts. */
import { expect, test } from 'vitest';
import { ApiClient } from '../../support/clients/api-client.ts';
import { HttpClient, type Reply } from '../../support/clients/http-client.ts';
import { application, service } from '../../support/fixtures/descriptions.ts';
import { eitherGroup, hostsOf, onHosts } from '../../support/hosts/hosts.ts';

const submission = { name: 'once', application: application(service()) };
const REPEATED = 'idempotent-replayed';

let keys = 0;
const newKey = () => `key-${keys++}`;

const submit = (api: ApiClient, key: string, body: unknown = submission) =>
  api.http.with({ 'idempotency-key': key }).post('execution', body);
const idOf = (reply: Reply) => {
  expect(reply.status, reply.text).toBe(200);
  return reply.json<{ execution_id: number }>().execution_id;
};
/** Ids of the executions so far. */
const listed = async (api: ApiClient) => Object.keys(await api.executions()).map(Number);

onHosts(eitherGroup, (host, { variant }) => {
  const api = new ApiClient(host);

  test('H440: a repeat makes nothing and gets the first answer, with a header that says so', async () => {
    const before = await listed(api);
    const key = newKey();
    const first = await submit(api, key);
    expect(first.headers[REPEATED]).toBeUndefined();
    const id = idOf(first);
    await api.terminate(id);
    const repeat = await submit(api, key);
    expect([repeat.status, repeat.text]).toEqual([first.status, first.text]);
    expect(repeat.headers[REPEATED]).toBe('true');
    expect(await listed(api)).toEqual([...before, id]);
  });

  test('H440: another body or path with the key is 422, and makes nothing', async () => {
    const key = newKey();
    const id = idOf(await submit(api, key));
    const other = await submit(api, key, { ...submission, name: 'other' });
    expect(other.status).toBe(422);
    expect(other.json().message).toContain('another request');
    if (variant === 'B') expect(other.headers.status).toContain('another request');
    const native = api.http.with({ 'idempotency-key': key });
    expect((await native.post('/native/api/0.7/execution', submission)).status).toBe(422);
    expect((await listed(api)).at(-1)).toBe(id);
  });

  test('H440: the body may have any length', async () => {
    const large = application(service({ environment: [['TEXT', 'x'.repeat(100_000)]] }));
    const key = newKey();
    const id = idOf(await submit(api, key, { name: 'large', application: large }));
    expect(idOf(await submit(api, key, { name: 'large', application: large }))).toBe(id);
    expect((await submit(api, key, { name: 'larger', application: large })).status).toBe(422);
  });

  test('H441: a POST that makes nothing ignores the key', async () => {
    const keyed = api.http.with({ 'idempotency-key': newKey() });
    for (const path of ['app_validate', 'execution/explain']) {
      for (const body of [submission, { application: application(service({ name: 'other' })) }]) {
        const reply = await keyed.post(path, body);
        expect([reply.status, reply.headers[REPEATED]]).toEqual([200, undefined]);
      }
    }
    expect(idOf(await keyed.post('execution', submission))).toBeGreaterThan(0);
  });

  test.each([
    ['an empty one', ''],
    ['one with a space', 'a b'],
    ['one with a letter beyond ASCII', '\xe4'],
    ['one of 256 characters', 'x'.repeat(256)],
  ])('H442: a key that is not 1 to 255 visible ASCII characters is 400: %s', async (_, key) => {
    const before = await listed(api);
    const reply = await submit(api, key);
    expect(reply.status).toBe(400);
    expect(reply.json().message).toContain('Idempotency-Key');
    expect(await listed(api)).toEqual(before);
  });

  test('H442: a key may have any 255 visible ASCII characters, and credentials are checked first', async () => {
    const key = `"!#~,;\\${'x'.repeat(247)}"`;
    expect(idOf(await submit(api, key))).toBe(idOf(await submit(api, key)));
    const anonymous = new HttpClient(() => host().url(), { 'idempotency-key': 'a b' });
    expect((await anonymous.post('execution', submission)).status).toBe(401);
  });
});

onHosts([...hostsOf('zoe-2018.12'), ...hostsOf('zoe-2017.12')], (host, { variant }) => {
  test('H440: the zoe variants answer a repeat like the first request', async () => {
    const { http } = new ApiClient(host);
    const keyed = http.with({ 'idempotency-key': newKey() });
    const first = await keyed.post('execution', submission);
    const repeat = await keyed.post('execution', submission);
    expect([first.status, repeat.status, repeat.text]).toEqual([201, 201, first.text]);
    expect(repeat.headers[REPEATED]).toBe('true');
    const other = await keyed.post('execution', { ...submission, name: 'other' });
    expect([other.status, other.text === '']).toEqual([422, variant === 'zoe-2018.12']);
  });
});

onHosts(hostsOf('zoe-2018.12'), (host) => {
  test('H440, H161: a repeat is not refused for the execution that the first request has made', async () => {
    const { http } = new ApiClient(host);
    expect((await http.post('quota/1', { concurrent_executions: 1 })).status).toBe(201);
    const keyed = http.with({ 'idempotency-key': newKey() });
    const replies = await Promise.all(Array.from({ length: 5 }, () => keyed.post('execution', submission)));
    replies.push(await keyed.post('execution', submission));
    expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 201));
    expect(new Set(replies.map(({ text }) => text)).size).toBe(1);
    expect((await http.post('execution', submission)).status).toBe(409);
  });
});
