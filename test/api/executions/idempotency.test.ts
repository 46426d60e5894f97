/** Submissions with the header Idempotency-Key, on both hosts. */
import { expect, test } from 'vitest';
import { ApiClient } from '../../support/clients/api-client.ts';
import { HttpClient, type Reply } from '../../support/clients/http-client.ts';
import { application, service } from '../../support/fixtures/descriptions.ts';
import { eitherGroup, hostsOf, onHosts, writeRow } from '../../support/hosts/hosts.ts';

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
const listed = async (api: ApiClient) => Object.keys(await api.list()).map(Number);

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

  test('H440: a repeat gets the first answer from a control plane that was started since', async () => {
    const key = newKey();
    const id = idOf(await submit(api, key));
    await host().crash();
    await host().start();
    const repeat = await submit(api, key);
    expect([idOf(repeat), repeat.headers[REPEATED]]).toEqual([id, 'true']);
  });

  test('H440, C260: of 20 simultaneous requests with one key one makes an execution, and all get its id', async () => {
    const before = await listed(api);
    const key = newKey();
    const replies = await Promise.all(Array.from({ length: 20 }, () => submit(api, key)));
    const ids = replies.map(idOf);
    expect(new Set(ids).size).toBe(1);
    expect(replies.filter(({ headers }) => headers[REPEATED] === 'true')).toHaveLength(19);
    expect(await listed(api)).toEqual([...before, ids[0]]);
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

  test('H442: a refused request leaves its key unused', async () => {
    const key = newKey();
    expect((await submit(api, key, { name: '' })).status).toBe(400);
    expect((await submit(api, key)).headers[REPEATED]).toBeUndefined();
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

onHosts(
  hostsOf('B'),
  (host) => {
    test('H443: a user who has used as many keys as the setting allows gets 429 with the time until one is free', async () => {
      const api = new ApiClient(host);
      const [first, second] = [newKey(), newKey()];
      const id = idOf(await submit(api, first));
      await submit(api, second);
      const refused = await submit(api, newKey());
      expect(refused.status).toBe(429);
      expect(Number(refused.headers['retry-after'])).toBeGreaterThan(86_000);
      expect(refused.json().message).toContain('BERTH_LIMITS.idempotencyKeysPerUser');
      expect(idOf(await submit(api, first))).toBe(id);
      idOf(await api.http.post('execution', submission));
      await writeRow(host(), 'UPDATE idempotency_keys SET made_ms = made_ms - 86400000 WHERE key = ?', [
        second,
      ]);
      const next = await submit(api, newKey());
      expect([next.status, next.headers[REPEATED]]).toEqual([200, undefined]);
    });
  },
  { BERTH_LIMITS: JSON.stringify({ idempotencyKeysPerUser: 2 }) },
);

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
