import { once } from 'node:events';
import { expect, test } from 'vitest';
import { ScriptedAgent } from '../../support/agents/scripted-agent.ts';
import { ApiClient } from '../../support/clients/api-client.ts';
import { basic, HttpClient } from '../../support/clients/http-client.ts';
import { answerOn, dial, type RawReply } from '../../support/clients/raw-http.ts';
import { application, service } from '../../support/fixtures/descriptions.ts';
import { ADMIN_PASSWORD, eitherGroup, onHosts } from '../../support/hosts/hosts.ts';

const BASE = '/api/0.7';
const CLOSE = 'Host: berth\r\nConnection: close\r\n';
const head = (line: string, headers = CLOSE) => `${line} HTTP/1.1\r\n${headers}\r\n`;
const post = (headers: string, body = '') =>
  head(`POST ${BASE}/app_validate`, `${CLOSE}${headers}\r\n`) + body;

onHosts(eitherGroup, (host, { kind, variant }) => {
  const api = new ApiClient(host);

  /** JSON texts, because some faults cannot be expressed as values. */
  const described = (part: string, value: string) =>
    JSON.stringify(application(service({ [part]: 'HERE' }))).replace('"HERE"', value);
  const deep = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);

  test.each([
    ['a name that is an object', '{"services":[{"name":{"toString":1},"total_count":3}]}'],
    ['a name of many levels', `{"services":[{"name":${deep(200_000)},"total_count":3}]}`],
    ['many levels', deep(500_000)],
    ['many levels of objects', `${'{"a":'.repeat(150_000)}1${'}'.repeat(150_000)}`],
    ['an environment of many levels', described('environment', deep(200_000))],
    ['labels of many levels', described('labels', deep(200_000))],
    ['an unknown field of many levels', described('unknown', deep(200_000))],
    ['a number beyond the range of numbers', described('total_count', '1e999')],
    ['a count beyond the range of integers', described('total_count', '9007199254740993')],
    ['a prototype', '{"__proto__":{"services":[]},"constructor":{"prototype":{"name":"polluted"}}}'],
    ['half a surrogate pair in a command', described('command', '"\\ud800"')],
    ['NUL in a command', described('command', '"a\\u0000b"')],
    ['NUL in an image', described('image', '"a\\u0000b"')],
    ['a line break in a key', described('\\r\nX-Evil: yes', '1')],
  ])('H190: a description with %s is 400', async (_, body) => {
    const reply = await api.http.send('POST', 'app_validate', body);
    expect(reply.status, reply.text).toBe(400);
    expect(reply.json()).toMatchObject({ message: expect.stringMatching(/\S/) });
    const submission = `{"name":"test","application":${body}}`;
    expect((await api.http.send('POST', 'execution', submission)).status).toBe(400);
  });

  test('H190: the last value of a key that is given twice counts', async () => {
    const text = JSON.stringify(application(service()));
    const twice = `{"name":1,${text.slice(1)}`;
    expect((await api.http.send('POST', 'app_validate', twice)).status).toBe(200);
    expect((await api.http.send('POST', 'app_validate', `${text.slice(0, -1)},"name":1}`)).status).toBe(400);
  });

  const invalid = Buffer.concat([Buffer.from('{"name":"'), Buffer.from([0xe4, 0xff]), Buffer.from('"}')]);

  test.each([
    ['of declared length', { 'content-length': `${invalid.byteLength}` }],
    ['of undeclared length', {}],
  ])('H6: a body %s that is not UTF-8 is 400', async (_, headers) => {
    const client = new HttpClient(() => host().url(), headers);
    const reply = await client.send('POST', 'app_validate', [invalid]);
    expect(reply.status).toBe(400);
    expect(reply.json()).toEqual({
      code: 'invalid',
      message: 'The body is not UTF-8. Send it as UTF-8, without compression.',
    });
  });

  test('H6: a byte order mark before the JSON is ignored', async () => {
    const body = `\ufeff${JSON.stringify(application(service()))}`;
    expect((await api.http.send('POST', 'app_validate', body)).status).toBe(200);
  });

  // The server in front of workerd answers these itself.
  if (kind === 'workerd') return;

  const checkShape = ({ status, reason, headers, body }: RawReply) => {
    const fields = Object.fromEntries(headers);
    expect(fields['content-type']).toBe('application/json; charset=utf-8');
    const { message } = JSON.parse(body);
    expect(message).toMatch(/\S/);
    expect(Number(fields['content-length'])).toBe(Buffer.byteLength(body));
    if (variant === 'A') return expect(fields.status).toBeUndefined();
    expect(reason, `${status}`).toBe(fields.status);
    expect(reason).toMatch(/^[ -~]{1,256}$/);
  };

  test.each([
    ['NUL in the path', 400, head(`GET ${BASE}/execution/\0`)],
    ['raw bytes in the path', 400, head(`GET ${BASE}/execution/\xe4\xff`)],
    ['a path that is too long', 431, head(`GET ${BASE}/${'a'.repeat(17_000)}`)],
    ['too many headers', 431, head('GET /', `${CLOSE}${'X-Filler: yes\r\n'.repeat(1_200)}`)],
    ['NUL in a header', 400, head(`GET ${BASE}/info`, `${CLOSE}X-Zero: a\0b\r\n`)],
    ['a folded header', 400, head(`GET ${BASE}/info`, `${CLOSE}X-Long: a\r\n b\r\n`)],
    ['bare line feeds', 400, `GET ${BASE}/info HTTP/1.1\nHost: berth\n\n`],
    ['a request without a host', 400, head(`GET ${BASE}/info`, 'Connection: close\r\n')],
    ['two hosts', 400, head(`GET ${BASE}/info`, `${CLOSE}Host: other\r\n`)],
    ['the same host twice', 400, head(`GET ${BASE}/info`, `${CLOSE}HOST: berth\r\n`)],
    ['an invalid host', 400, head(`GET ${BASE}/info`, 'Host: [\r\nConnection: close\r\n')],
    ['a host with a path', 400, head(`GET ${BASE}/info`, 'Host: a/b?c\r\nConnection: close\r\n')],
    ['an unknown method', 400, head(`NONSENSE ${BASE}/info`)],
    ['a request to a proxy', 400, head('CONNECT berth:443')],
    ['a request about the whole server', 400, head('OPTIONS *')],
    ['TLS', 400, '\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03'],
    ['two lengths', 400, post('Content-Length: 1\r\nContent-Length: 2\r\n', '12')],
    ['a negative length', 400, post('Content-Length: -1\r\n')],
    ['a length that is not an integer', 400, post('Content-Length: 1e3\r\n')],
    ['a length beyond the range of numbers', 400, post(`Content-Length: ${'9'.repeat(30)}\r\n`)],
    [
      'a length and chunks',
      400,
      post('Content-Length: 5\r\nTransfer-Encoding: chunked\r\n', '2\r\n{}\r\n0\r\n\r\n'),
    ],
    ['a chunk without a size', 400, post('Transfer-Encoding: chunked\r\n', 'zz\r\n{}\r\n')],
    ['an unknown transfer encoding', 400, post('Transfer-Encoding: gzip\r\n', '{}')],
  ])('H191: %s is %i in the shape of an error, and the connection is closed', async (_, status, bytes) => {
    const reply = await answerOn(dial(host().url(), bytes));
    expect(reply.status, reply.body).toBe(status);
    checkShape(reply);
    expect((await api.http.get('info')).status).toBe(200);
  });

  test.each([
    ['of declared length', post('Content-Length: 100\r\n', '{"name"')],
    ['in chunks', post('Transfer-Encoding: chunked\r\n', '20\r\n{"name"')],
  ])('H191: a body %s that breaks off is 400, and is not logged as a failure of Berth', async (_, bytes) => {
    const socket = dial(host().url(), bytes);
    socket.end();
    const reply = await answerOn(socket);
    expect(reply.status).toBe(400);
    checkShape(reply);
    expect(host().output()).not.toContain('request.failed');
  });

  test('H191: garbage after a request ends its answer, and no error is written into it', async () => {
    await using agent = await ScriptedAgent.join(host());
    const id = await api.submit();
    const one = await agent.runs(id);
    const login = `Host: berth\r\nAuthorization: ${basic('admin', ADMIN_PASSWORD).authorization}\r\n`;
    const socket = dial(host().url(), head(`GET ${BASE}/service/logs/${one.service}`, login));
    await (await agent.log(one.service)).write('output');
    const received: Buffer[] = [];
    socket.on('data', (data) => {
      // The first piece contains at least the head.
      if (received.push(data) === 1) socket.write('garbage\r\n\r\n');
    });
    await once(socket, 'close');
    expect(
      Buffer.concat(received)
        .toString()
        .match(/HTTP\/1\.1/g),
    ).toHaveLength(1);
    await api.remove(id);
  });

  const oddKey = `{"\\r\\nX-Evil: yes\\u00e4":1,${JSON.stringify(application(service())).slice(1)}`;
  test.each([
    ['an unknown path', head(`GET ${BASE}/nothing%0d%0aX-Evil:%20yes/%C3%A4%00%F0%9F%9A%A2`), 404],
    ['an id', head(`GET ${BASE}/discovery/by_group/%0d%0aX-Evil:%20yes/%C3%A4`), 404],
    ['another method', head(`PUT ${BASE}/execution/%0d%0aX-Evil:%20yes%C3%A4`), 405],
    ['a key', post(`Content-Length: ${oddKey.length}\r\n`, oddKey), 400],
  ])(
    'H4: neither line breaks nor characters beyond ASCII in %s get into a header',
    async (_, bytes, status) => {
      const reply = await answerOn(dial(host().url(), bytes));
      expect(reply.status).toBe(status);
      checkShape(reply);
      expect(reply.headers.map(([name]) => name)).not.toContain('x-evil');
    },
  );

  test.each([
    ['an unknown expectation', post('Expect: wonders\r\nContent-Length: 2\r\n', '{}'), 400],
    [
      'an upgrade to HTTP/2',
      head(`GET ${BASE}/info`, 'Host: berth\r\nConnection: close, Upgrade\r\nUpgrade: h2c\r\n'),
      200,
    ],
    ['a whole URL', head(`GET http://elsewhere${BASE}/info`), 200],
    ['the version HTTP/1.0 and no host', `GET ${BASE}/info HTTP/1.0\r\n\r\n`, 200],
  ])('H191: a request with %s is answered as usual', async (_, bytes, status) => {
    const reply = await answerOn(dial(host().url(), bytes));
    expect(reply.status, reply.body).toBe(status);
  });
});
