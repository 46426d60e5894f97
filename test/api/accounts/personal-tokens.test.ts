/** Personal access tokens: one control plane of each host, with different variants, serves all tests. */
import { expect, test } from 'vitest';
import type { NewPersonalToken, PersonalToken } from '../../../client/api-types.ts';
import { basic, expectAnswer, HttpClient, NATIVE } from '../../support/clients/http-client.ts';
import { PAGE, WebClient } from '../../support/clients/web-client.ts';
import { application, service } from '../../support/fixtures/descriptions.ts';
import { addUser, type RoleName } from '../../support/fixtures/users.ts';
import { ADMIN_PASSWORD, allRows, onEach, onHostsWith } from '../../support/hosts/hosts.ts';

const PASSWORD = 'secret words';
const LIMIT = 4;
const SETTINGS = {
  BERTH_LIMITS: JSON.stringify({ personalTokensPerUser: LIMIT, personalTokenDays: 365 }),
};

onHostsWith(SETTINGS, onEach('zoe-2018.12', 'A'), (host) => {
  const anonymous = new HttpClient(() => host().url());
  const as = (username: string, password = PASSWORD) => anonymous.with(basic(username, password));
  const admin = as('admin', ADMIN_PASSWORD);
  const bearing = (token: string) => anonymous.with({ authorization: `Bearer ${token}` });
  const ask = (client: HttpClient, fields: object) => client.post(`${NATIVE}/token`, fields);
  const make = async (
    client: HttpClient,
    scopes: string[],
    name = `for ${scopes}`,
  ): Promise<NewPersonalToken> => {
    const reply = await ask(client, { name, scopes });
    expect(reply.status, reply.text).toBe(200);
    return reply.json<NewPersonalToken>();
  };
  const list = async (client: HttpClient): Promise<PersonalToken[]> =>
    Object.values((await client.get(`${NATIVE}/token`)).json<Record<string, PersonalToken>>());
  const statusOf = async (client: HttpClient, method: string, path: string, body?: object) =>
    (await client.send(method, `${NATIVE}/${path}`, body && JSON.stringify(body))).status;
  const works = async (token: string) => (await statusOf(bearing(token), 'GET', 'execution')) === 200;
  const submission = { name: 'by token', application: application(service()) };
  let users = 0;
  const newUser = async (role: RoleName = 'user'): Promise<{ name: string; id: number }> => {
    const name = `holder${++users}`;
    await addUser(host(), name, PASSWORD, role);
    const found = (await admin.get(`${NATIVE}/user?username=${name}`)).json();
    return { name, id: Number(Object.keys(found)[0]) };
  };
  const cookieOf = async (name: string) =>
    anonymous.with({ cookie: (await WebClient.logIn(host, name, PASSWORD)).cookie });

  test('H483, H484: a token is shown once, and stands for its user in every variant, as Bearer or password', async () => {
    const { name } = await newUser();
    const reply = await ask(as(name), { name: 'ci', scopes: ['submit', 'read', 'submit'] });
    expect([reply.status, reply.headers['cache-control']]).toEqual([200, 'no-store']);
    const { token_id, token, expires_at } = reply.json<NewPersonalToken>();
    expect(token).toMatch(/^berth_pat_[\w-]{64}$/);
    expect(Math.round(((expires_at ?? 0) - Date.now() / 1_000) / 86_400)).toBe(90);
    expect(await list(as(name))).toEqual([
      {
        ...{ id: token_id, name: 'ci', user_id: expect.any(Number), scopes: ['read', 'submit'] },
        ...{ created_at: expect.any(Number), expires_at, last_used_at: null },
      },
    ]);
    const replies = [
      await bearing(token).get('execution'),
      await as(name, token).get('execution'),
      await bearing(token).get(`${NATIVE}/execution`),
    ];
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(replies.map(({ headers }) => headers['set-cookie'])).toEqual([undefined, undefined, undefined]);
    expect(await statusOf(as('admin', token), 'GET', 'execution')).toBe(401);
    expect((await as(name).get('token')).status, 'only below the own path').toBe(404);
  });

  test('H485: a request beyond the scopes is 403 with the missing one, and each scope includes reading', async () => {
    const { name } = await newUser('admin');
    const bearers: HttpClient[] = [];
    for (const scope of ['read', 'submit', 'operate', 'admin'])
      bearers.push(bearing((await make(as(name), [scope])).token));
    const [read = anonymous, submit = anonymous] = bearers;
    const own = await as(name).post(`${NATIVE}/execution`, submission);
    const others = await admin.post(`${NATIVE}/execution`, submission);
    const [ownId, othersId] = [own, others].map((reply) => reply.json().execution_id);
    const requests: [method: string, path: string, body: object | undefined, statuses: number[]][] = [
      ['GET', 'execution', undefined, [200, 200, 200, 200]],
      ['GET', `execution/${othersId}`, undefined, [200, 200, 200, 200]],
      ['GET', 'host', undefined, [200, 200, 200, 200]],
      ['GET', 'user', undefined, [200, 200, 200, 200]],
      ['POST', 'execution', submission, [403, 200, 403, 403]],
      ['POST', 'execution/explain', submission, [403, 200, 403, 403]],
      ['POST', `execution/${ownId}`, { time_limit: 60 }, [403, 200, 403, 403]],
      ['DELETE', `execution/${othersId}`, undefined, [403, 403, 403, 403]],
      ['DELETE', 'execution/999', undefined, [403, 404, 403, 403]],
      ['POST', 'host/token', {}, [403, 403, 200, 403]],
      ['POST', 'host/999', { schedulable: false }, [403, 403, 404, 403]],
      ['POST', 'role/999', { name: 'new' }, [403, 403, 403, 404]],
      ['POST', 'user/999', { email: '' }, [403, 403, 403, 404]],
    ];
    for (const [method, path, body, statuses] of requests) {
      const found = await Promise.all(bearers.map((bearer) => statusOf(bearer, method, path, body)));
      expect(found, `${method} ${path}`).toEqual(statuses);
    }
    expect((await read.get('/metrics')).status).toBe(200);
    const refused = await read.post(`${NATIVE}/execution`, submission);
    expect(refused.text).toContain('with the scope submit; yours has read');
    expect(await statusOf(as(name), 'DELETE', `token/${(await list(as(name)))[0]?.id}`)).toBe(200);
    const both = await make(as(name), ['operate', 'submit']);
    expect(await statusOf(bearing(both.token), 'DELETE', `execution/${othersId}`)).toBe(200);
    expect(await statusOf(submit, 'DELETE', `execution/delete/${ownId}`)).toBe(200);
  });

  test('H486: a cookie needs the password to make a token, and a token makes none with it either', async () => {
    const { name, id } = await newUser('admin');
    const wanted = { name: 'more', scopes: ['read'] };
    const { token } = await make(as(name), ['admin', 'operate', 'submit', 'read']);
    const cookie = await cookieOf(name);
    const tries: [client: HttpClient, fields: object, status: number][] = [
      [anonymous, wanted, 401],
      [cookie, wanted, 403],
      [cookie, { ...wanted, current_password: 'wrong' }, 400],
      [cookie, { ...wanted, current_password: token }, 400],
      [bearing(token), { ...wanted, current_password: PASSWORD }, 403],
      [as(name, token), wanted, 403],
      [cookie, { ...wanted, current_password: PASSWORD }, 200],
    ];
    for (const [client, fields, status] of tries) expect((await ask(client, fields)).status).toBe(status);
    const [first] = await list(as(name));
    expect(await statusOf(bearing(token), 'DELETE', `token/${first?.id}`)).toBe(403);
    const own = { password: 'another password', current_password: PASSWORD };
    expect(await statusOf(bearing(token), 'POST', `user/${id}`, own)).toBe(403);
    const asPassword = { ...own, password: token };
    expect(await statusOf(cookie, 'POST', `user/${id}`, asPassword)).toBe(400);
    // The form of the login takes passwords only.
    const form = `username=${name}&password=${encodeURIComponent(token)}`;
    const page = anonymous.with({ 'content-type': 'application/x-www-form-urlencoded', ...PAGE });
    const { headers } = await page.send('POST', '/login', form);
    expect(String(headers['set-cookie'])).not.toContain('berth_session');
  });

  test('H487: fields that are not valid, a second token of a name and one beyond the limit are refused', async () => {
    const { name } = await newUser();
    const valid = { name: 'x', scopes: ['read'] };
    const wrong = [
      { name: undefined },
      { name: '' },
      { scopes: undefined },
      { scopes: [] },
      { scopes: ['all'] },
    ];
    const more = [...[0, 366, null].map((expires_days) => ({ expires_days })), { user_id: 1 }];
    for (const fields of [...wrong, ...more])
      expect((await ask(as(name), { ...valid, ...fields })).status, JSON.stringify(fields)).toBe(400);
    await make(as(name), ['read'], 'one');
    await expectAnswer(ask(as(name), { name: 'one', scopes: ['submit'] }), 409, 'with the name one');
    for (let n = 1; n < LIMIT; n++) await make(as(name), ['read'], `more ${n}`);
    const beyond = await ask(as(name), { name: 'beyond', scopes: ['read'] });
    expect([beyond.status, beyond.text]).toEqual([409, expect.stringContaining(`${LIMIT} personal access`)]);
    const [first] = await list(as(name));
    expect(await statusOf(as(name), 'DELETE', `token/${first?.id}`)).toBe(200);
    await make(as(name), ['read'], 'beyond');
  });

  test('H444, H487: a repeat with the same Idempotency-Key is 409 with the id, and makes no second token', async () => {
    const { name } = await newUser();
    const keyed = as(name).with({ 'idempotency-key': 'once' });
    const replies = await Promise.all(
      Array.from({ length: 5 }, () => ask(keyed, { name: 'once', scopes: ['read'] })),
    );
    const made = replies.filter(({ status }) => status === 200);
    const refused = replies.filter(({ status }) => status === 409);
    expect([made.length, refused.length]).toEqual([1, 4]);
    const { token_id } = made[0]?.json<NewPersonalToken>() ?? {};
    for (const { text } of refused) expect(text).toContain(`the personal access token ${token_id},`);
    expect(await list(as(name))).toHaveLength(1);
  });

  test('H488: a revoked token is refused by the next request, also a submission, and others stay', async () => {
    const { name } = await newUser();
    const [doomed, other] = [await make(as(name), ['submit'], 'a'), await make(as(name), ['submit'], 'b')];
    const submit = (token: string) => statusOf(bearing(token), 'POST', 'execution', submission);
    // Twice, so that the coordinator has seen it.
    expect([await submit(doomed.token), await submit(doomed.token)]).toEqual([200, 200]);
    const rest = await bearing(doomed.token).hold('POST', `${NATIVE}/execution`, JSON.stringify(submission));
    await works(doomed.token);
    expect(await statusOf(as(name), 'DELETE', `token/${doomed.token_id}`)).toBe(200);
    expect((await rest()).status).toBe(401);
    expect(await submit(doomed.token)).toBe(401);
    expect(await works(doomed.token)).toBe(false);
    expect([await submit(other.token), await works(other.token)]).toEqual([200, true]);
    expect(await statusOf(as(name), 'DELETE', `token/${doomed.token_id}`)).toBe(404);
  });

  test('H488: a token that is new to the process and revoked before the body arrives submits nothing', async () => {
    const { name } = await newUser();
    const { token, token_id } = await make(as(name), ['submit']);
    const rest = await bearing(token).hold('POST', `${NATIVE}/execution`, JSON.stringify(submission));
    await as(name).get(`${NATIVE}/execution`);
    expect(await statusOf(as(name), 'DELETE', `token/${token_id}`)).toBe(200);
    expect((await rest()).status).toBe(401);
    expect((await as(name).get(`${NATIVE}/execution`)).text).toBe('{}');
  });

  test('H488: the streams of a token end with it', async () => {
    const { name } = await newUser();
    const { token, token_id } = await make(as(name), ['read']);
    const stream = await bearing(token).open('GET', `${NATIVE}/events`);
    expect(stream.statusCode).toBe(200);
    const ended = new Promise((done) => stream.on('close', done).resume());
    expect(await statusOf(as(name), 'DELETE', `token/${token_id}`)).toBe(200);
    await ended;
    expect(await statusOf(bearing(token), 'GET', 'events')).toBe(401);
  });

  test('H489: a token outlives changes of the password and the role, and not its user', async () => {
    const { name, id } = await newUser();
    const { token } = await make(as(name), ['submit']);
    const change = (fields: object) => statusOf(admin, 'POST', `user/${id}`, fields);
    for (const [fields, isWorking] of [
      [{ password: 'changed words' }, true],
      [{ role_id: 2 }, true],
      [{ enabled: false }, false],
      [{ enabled: true }, true],
    ] as const)
      expect([await change(fields), await works(token)], JSON.stringify(fields)).toEqual([200, isWorking]);
    const rest = await bearing(token).hold('POST', `${NATIVE}/execution`, JSON.stringify(submission));
    await works(token);
    await change({ enabled: false });
    expect((await rest()).status).toBe(401);
    expect(await statusOf(admin, 'DELETE', `user/${id}`)).toBe(200);
    expect(await works(token)).toBe(false);
  });

  test('H490: a wrong token is 401 as Bearer and as password, and costs no login of its user', async () => {
    const { name } = await newUser();
    const { token } = await make(as(name), ['read']);
    const wrong = `${token.slice(0, -1)}${token.endsWith('x') ? 'y' : 'x'}`;
    for (let n = 0; n < 12; n++) expect(await statusOf(as(name, wrong), 'GET', 'execution')).toBe(401);
    const reply = await bearing(wrong).get(`${NATIVE}/execution`);
    expect(reply.status).toBe(401);
    expect(reply.headers['www-authenticate']).toContain('error="invalid_token"');
    expect(await statusOf(as(name), 'GET', 'execution')).toBe(200);
  });

  test("H491: users see and revoke their own tokens only, and administrators everybody's", async () => {
    const [{ name, id }, other] = [await newUser(), await newUser()];
    const { token, token_id } = await make(as(name), ['read']);
    const listed = (client: HttpClient) => statusOf(client, 'GET', `token?user_id=${id}`);
    expect([await listed(as(name)), await listed(as(other.name)), await listed(admin)]).toEqual([
      200, 403, 200,
    ]);
    const adminToken = await make(admin, ['read'], `reader ${name}`);
    expect(await listed(bearing(adminToken.token))).toBe(403);
    expect(await statusOf(admin, 'DELETE', `token/${adminToken.token_id}`)).toBe(200);
    expect(await statusOf(as(other.name), 'DELETE', `token/${token_id}`)).toBe(404);
    expect(await works(token)).toBe(true);
    expect(await statusOf(admin, 'DELETE', `token/${token_id}`)).toBe(200);
    expect(await works(token)).toBe(false);
  });

  test('H492: the list has the minute of the last use, and no request waits for it', async () => {
    const { name } = await newUser();
    const { token } = await make(as(name), ['submit']);
    const before = Math.floor(Date.now() / 60_000) * 60;
    await Promise.all(Array.from({ length: 5 }, () => works(token)));
    await expect.poll(async () => (await list(as(name)))[0]?.last_used_at).toBeGreaterThanOrEqual(before);
    const { last_used_at } = (await list(as(name)))[0] ?? {};
    expect(Number(last_used_at) % 60).toBe(0);
  });

  test('H493: neither the database nor the output of the control plane has a token', async () => {
    const { name } = await newUser();
    const { token } = await make(as(name), ['read']);
    await works(token);
    await as(name, token).get('execution');
    const secret = token.slice('berth_pat_'.length);
    for (const [table, rows] of Object.entries(await allRows(host())))
      expect(rows.join().includes(secret), table).toBe(false);
    expect(host().output()).not.toContain(secret);
  });

  test('H494: the page lists the tokens, shows a new one once, and revokes it', async () => {
    const { name } = await newUser();
    const page = await WebClient.logIn(host, name, PASSWORD);
    expect((await page.get('/account')).text).toContain('/account/tokens');
    const form = { name: '<b>ci', days: '30', submit: 'on', present: PASSWORD };
    for (const [wrong, problem] of [
      [{ ...form, present: 'a guess' }, 'not your current password'],
      [{ ...form, days: '400' }, 'at most 365'],
      [{ ...form, days: 'soon' }, 'days-problem'],
      [{ ...form, name: '' }, 'name-problem'],
    ] as const) {
      await expectAnswer(page.post('/account/tokens', wrong), 400, problem);
    }
    const shown = await page.post('/account/tokens', form);
    expect([shown.status, shown.headers['cache-control']]).toEqual([200, 'no-store']);
    const [token = ''] = /berth_pat_[\w-]{64}/.exec(shown.text) ?? [];
    expect(await statusOf(bearing(token), 'POST', 'execution', submission)).toBe(200);
    const listed = await page.get('/account/tokens');
    expect([listed.text.includes('&lt;b&gt;ci'), listed.text.includes('submit')]).toEqual([true, true]);
    expect(listed.text).not.toContain(token);
    const [one] = await list(as(name));
    const elsewhere = { cookie: page.cookie, 'sec-fetch-site': 'cross-site', accept: 'text/html' };
    const foreign = await anonymous.with(elsewhere).send('POST', `/account/tokens/${one?.id}/revoke`);
    expect([foreign.status, await works(token)]).toEqual([403, true]);
    expect((await page.act(`/account/tokens/${one?.id}/revoke`)).text).toContain('The token was revoked.');
    expect(await works(token)).toBe(false);
  });
});
