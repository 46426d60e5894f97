import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { beforeAll, expect, test } from 'vitest';
import { ApiClient } from '../../support/clients/api-client.ts';
import { basic, HttpClient, type Reply } from '../../support/clients/http-client.ts';
import { application, service } from '../../support/fixtures/descriptions.ts';
import { addUser } from '../../support/fixtures/users.ts';
import { bothGroups, onHostsWith } from '../../support/hosts/hosts.ts';

const MIB = 1024 * 1024;
/** By status, of the errors below. */
const CODES: Readonly<Record<number, string>> = {
  400: 'invalid',
  401: 'unauthenticated',
  403: 'forbidden',
  404: 'not-found',
  405: 'wrong-method',
  409: 'conflict',
  413: 'too-large',
};

onHostsWith(
  { BERTH_SECRET_KEYS: Buffer.alloc(32, 5).toString('base64') },
  bothGroups,
  (host, { variant }) => {
    const anonymous = new HttpClient(() => host().url());
    const api = new ApiClient(host);
    const admin = api.http;
    const alice = anonymous.with(basic('alice', 'secret words'));
    let ended = 0;

    beforeAll(async () => {
      await addUser(host(), 'alice', 'secret words', 'user');
      ended = await api.submit();
      await api.terminate(ended);
    });

    const errors: [name: string, status: number, ask: () => Promise<Reply>][] = [
      ['a malformed body', 400, () => admin.post('execution', {})],
      [
        'an invalid description',
        400,
        () => admin.post('app_validate', { ...application(service()), name: 'ä\n' }),
      ],
      ['a request without credentials', 401, () => anonymous.get('execution')],
      ['a login with wrong credentials', 401, () => anonymous.with(basic('admin', 'wrong')).get('login')],
      ['a missing permission', 403, () => alice.delete(`execution/delete/${ended}`)],
      ["another user's object", 404, () => alice.get(`execution/${ended}`)],
      ['an unknown object', 404, () => admin.get('execution/999')],
      ['an unknown path', 404, () => anonymous.get('nothing/here')],
      ['another API version', 404, () => anonymous.get('/api/0.6/info')],
      ['a path outside the API', 404, () => anonymous.get('/nothing')],
      ['another method', 405, () => anonymous.send('PUT', 'info')],
      ['a conflict with the state', 409, () => admin.delete(`execution/${ended}`)],
      ['a body that is too large', 413, () => anonymous.send('POST', 'app_validate', ' '.repeat(MIB + 1))],
      [
        'a body that is too large and of undeclared length',
        413,
        () => anonymous.send('POST', 'app_validate', [Buffer.alloc(2 * MIB)]),
      ],
    ];

    const ofGroup = variant === 'A' ? 'no Status header' : 'it as Status header and reason phrase as well';
    test.each(errors)(
      `H3, H4, H5, H818: %s is %i with a code and a message in JSON, and ${ofGroup}`,
      async (_, status, ask) => {
        const reply = await ask();
        expect(reply.status).toBe(status);
        expect(reply.headers['content-type']).toBe('application/json; charset=utf-8');
        const { code, message } = reply.json<{ code: string; message: string }>();
        expect([code, message]).toEqual([CODES[status], expect.stringMatching(/\S/)]);
        if (variant === 'A') {
          expect(reply.headers.status).toBeUndefined();
          expect(reply.reason).not.toContain(message);
          return;
        }
        expect(reply.headers.status).toMatch(/^[ -~]{1,256}$/);
        const asciiLine = message.replace(/[^ -~]+/g, '?').slice(0, 256);
        expect(reply.headers.status).toBe(asciiLine.trim());
        expect(reply.reason).toBe(reply.headers.status);
      },
    );

    test.each([
      ['execution', {}, 'name: is missing: it must be text; application: is missing'],
      ['execution', { name: '', application: {} }, 'name: must have at least 1 character'],
      ['execution', [], 'body: must be an object'],
      ['host/token', { name: 5 }, 'name: must be text'],
      ['host/token', { nam: 'x' }, 'nam: unknown field; known: name and labels'],
    ])('H303: POST %s of %j reports each problem by field, in words', async (path, body, words) => {
      expect((await admin.post(path, body)).json()).toMatchObject({
        message: expect.stringContaining(words),
      });
    });

    test('H303: an error names the first three unknown parameters, and lists the known ones', async () => {
      const { message } = (await admin.get('host?a=1&b=2&c=3&d=4')).json<{ message: string }>();
      expect(message).toBe('The filter is not valid. a, b, c and 1 more: unknown parameters; known: name');
    });

    test('H2: a success has no Status header', async () => {
      const reply = await anonymous.get('info');
      expect(reply.headers.status).toBeUndefined();
      expect(reply.reason).toBe('OK');
    });

    test.each([
      ['a path that is not a URL', 'GET // HTTP/1.1', 'Connection: close'],
      [
        'an upgrade of a path that is not a URL',
        'GET // HTTP/1.1',
        'Connection: Upgrade\r\nUpgrade: websocket',
      ],
      [
        'an upgrade of a path without upgrades',
        'GET /api/0.7/info HTTP/1.1',
        'Connection: Upgrade\r\nUpgrade: websocket',
      ],
      ['an invalid host', 'GET /api/0.7/info HTTP/1.1', 'Host: [\r\nConnection: close'],
      [
        'a broken cookie',
        'GET /api/0.7/execution HTTP/1.1',
        'Cookie: ;;=%E0%A4%A;berth_session=%\r\nConnection: close',
      ],
      [
        'broken credentials',
        'GET /api/0.7/execution HTTP/1.1',
        'Authorization: Basic %%%\r\nConnection: close',
      ],
    ])('H1: %s harms no other client', async (_, line, headers) => {
      const socket = connect(Number(new URL(host().url()).port), '127.0.0.1');
      socket.end(`${line}\r\nHost: berth\r\n${headers}\r\n\r\n`);
      await text(socket);
      expect((await anonymous.get('info')).status).toBe(200);
    });

    test("H630: secrets and files are at the API's own paths, with the errors of the group", async () => {
      const values = { secret: 'the value', file: Buffer.from([0, 255]).toString('base64') };
      for (const [kind, value] of Object.entries(values)) {
        const reply = await alice.post(kind, { name: 'MINE', value });
        expect([reply.status, Object.keys(reply.json())]).toEqual([200, [`${kind}_id`]]);
        const [id] = Object.values(reply.json<Record<string, number>>());
        const own = (await alice.get(kind)).json();
        expect(own).toMatchObject({ [`${id}`]: { id, name: 'MINE', for_all: false } });
        expect((await alice.get(`/native/api/0.7/${kind}`)).json()).toEqual(own);
        const refused: [status: number, Reply][] = [
          [400, await alice.post(kind, { name: 'not a name', value })],
          [401, await anonymous.get(kind)],
          [403, await alice.post(kind, { name: 'MINE', value, for_all: true })],
          [404, await admin.delete(`${kind}/${id}`)],
          [405, await alice.send('PUT', kind)],
        ];
        for (const [status, { headers, ...error }] of refused) {
          expect(error.status).toBe(status);
          expect(error.text).not.toContain(value);
          const { message } = error.json<{ message: string }>();
          if (variant === 'B') expect(headers.status).toContain(message.slice(0, 20));
          else expect(headers.status).toBeUndefined();
        }
        expect((await alice.delete(`${kind}/${id}`)).text).toBe('');
        expect((await alice.get(kind)).json()).toEqual({});
      }
      expect((await admin.post('secret/encrypt', {})).json()).toEqual({
        encrypted: 0,
        left: 0,
        unreadable: 0,
      });
    });
  },
);
