/** Sign-on by a real provider of OpenID Connect: one control plane of each host serves all tests. */
import { createHash } from 'node:crypto';
import { afterAll, beforeEach, expect, test } from 'vitest';
import type { AuditEntry } from '../../../client/api-types.ts';
import { CommandLine } from '../../support/clients/command-line.ts';
import { basic, expectAnswer, HttpClient, NATIVE } from '../../support/clients/http-client.ts';
import {
  ADMIN_PASSWORD,
  allRows,
  onEach,
  onHostsWith,
  queryRows,
  writeRow,
} from '../../support/hosts/hosts.ts';
import { TestProvider } from '../../support/sign-on/test-provider.ts';
import { Visitor } from '../../support/sign-on/visitor.ts';
import { eventually } from '../../support/tools/eventually.ts';

const [ADMIN, USER] = [1, 3];
const GROUPS = [
  { group: 'operators', role: 'admin' },
  { group: 'staff', role: 'user', quota: 'default' },
];
const HOUR_S = 3_600;
const nowS = () => Math.floor(Date.now() / 1_000);

const provider = await TestProvider.start();
afterAll(() => provider.stop());
const SETTINGS = provider.settings({ createUsers: true, groups: GROUPS, sessionHours: 2 });

onHostsWith(SETTINGS, onEach('B', 'zoe-2018.12'), (host, { kind }) => {
  const anonymous = new HttpClient(() => host().url());
  const admin = anonymous.with(basic('admin', ADMIN_PASSWORD));
  let visitor: Visitor;
  beforeEach(() => {
    visitor = new Visitor();
  });
  const berth = () => host().url();
  /** Gives somebody an account at the provider, with a subject of this host, who logs in there next. */
  const account = (name: string, claims: Record<string, unknown> = {}) => {
    const subject = `${kind} ${name}`;
    const all = { preferred_username: name, email: `${name}@example.org`, groups: ['staff'], ...claims };
    provider.accounts[subject] = all;
    provider.next = subject;
    return subject;
  };
  const userNamed = async (name: string) => {
    const all = (await admin.get(`${NATIVE}/user?username=${name}`)).json<Record<string, object>>();
    return Object.values(all)[0] as (Record<string, unknown> & { id: number }) | undefined;
  };
  const entriesOf = async (query: string) =>
    Object.values((await admin.get(`${NATIVE}/audit?${query}`)).json<Record<string, AuditEntry>>());
  const isLoggedIn = async (who = visitor) => (await who.open(`${berth()}/account`)).status === 200;
  const cookieOf = (who = visitor) => anonymous.with({ cookie: who.cookiesFor(berth()) });
  const makeUser = async (fields: object) => {
    const body = { role_id: USER, quota_id: 1, ...fields };
    const reply = await admin.post(`${NATIVE}/user`, body);
    expect(reply.status, reply.text).toBe(200);
    return reply.json<{ user_id: number }>().user_id;
  };
  const signedOn = async (name: string, claims: Record<string, unknown> = {}) => {
    account(name, claims);
    const page = await visitor.signOn(berth());
    expect(page.status, page.text).toBe(200);
  };

  test('H530, H531, H562: who signs on first is created, logged in, counted and led to the wanted page, and is the same user later', async () => {
    const count = async () =>
      Number(/berth_logins_total\{way="oidc"\} (\d+)/.exec((await admin.get('/metrics')).text)?.[1]);
    const before = await count();
    account('ann');
    const page = await visitor.signOn(berth(), '/account?tab=1');
    expect([page.status, page.url], page.text).toEqual([200, `${berth()}/account?tab=1`]);
    const user = await userNamed('ann');
    expect(user).toMatchObject({
      ...{ auth_source: 'oidc', email: 'ann@example.org', enabled: true, role_id: USER, quota_id: 1 },
    });
    expect(await count()).toBe(before + 1);
    account('ann', { preferred_username: 'renamed', email: 'admin@example.org' });
    await new Visitor().signOn(berth());
    expect([await userNamed('ann'), await userNamed('renamed')]).toEqual([user, undefined]);
  });

  test('H531: a sign-on never takes over a user by name or e-mail address', async () => {
    await makeUser({ username: 'bob', email: 'bob@example.org' });
    const before = await userNamed('bob');
    account('bob');
    const page = await visitor.signOn(berth());
    expect([page.status, await isLoggedIn()]).toEqual([403, false]);
    expect(page.text).toContain('The user name bob is taken here by another user.');
    expect(page.text).toContain(`the subject ${kind} bob`);
    expect(await userNamed('bob')).toEqual(before);
    visitor = new Visitor();
    await signedOn('bob2', { email: 'bob@example.org' });
    expect(await userNamed('bob2')).toMatchObject({ auth_source: 'oidc' });
  });

  test('H532: an administrator links a user to a subject, in a new user or an old one, and nobody else can', async () => {
    const carol = account('carol');
    const id = await makeUser({ username: 'Carol C', auth_source: 'oidc', subject: carol });
    expect((await visitor.signOn(berth())).text).toContain('Carol C');
    const dave = account('dave');
    await makeUser({ username: 'dave' });
    const link = { subject: dave };
    const path = `${NATIVE}/user/${(await userNamed('dave'))?.id}`;
    expect((await cookieOf().post(path, link)).status).toBe(403);
    expect((await admin.post(path, { subject: carol })).status).toBe(409);
    expect((await admin.post(path, { ...link, auth_source: 'internal' })).status).toBe(400);
    expect((await admin.post(path, link)).status).toBe(200);
    expect(await userNamed('dave')).toMatchObject({ auth_source: 'oidc' });
    visitor = new Visitor();
    expect((await visitor.signOn(berth())).text).toContain('dave');
    expect((await admin.post(`/api/0.7/user/${id}`, link)).status).toBe(400);
  });

  test('H533: groups give role and quota at each sign-on, and members of none are not admitted', async () => {
    await signedOn('erin');
    const before = visitor;
    visitor = new Visitor();
    await signedOn('erin', { groups: ['other', 'operators', 'staff'] });
    expect(await userNamed('erin')).toMatchObject({ role_id: ADMIN });
    expect([await isLoggedIn(before), await isLoggedIn()]).toEqual([false, true]);
    for (const groups of [[], ['other'], undefined, { staff: true }]) {
      account('erin', { groups });
      await expectAnswer(new Visitor().signOn(berth()), 403, 'none of the groups');
    }
    visitor = new Visitor();
    await signedOn('erin', { groups: 'staff' });
    expect(await userNamed('erin')).toMatchObject({ role_id: USER });
  });

  test('H645: whose groups are gone is out at once with the next sign-on, of pages, programs and streams', async () => {
    await signedOn('gina', { groups: ['operators'] });
    const made = await cookieOf().post(`${NATIVE}/token`, { name: 'ci', scopes: ['read'] });
    const bearer = anonymous.with({ authorization: `Bearer ${made.json<{ token: string }>().token}` });
    expect((await bearer.get(`${NATIVE}/execution`)).status).toBe(200);
    account('gina', { groups: ['other'] });
    expect((await new Visitor().signOn(berth())).status).toBe(403);
    expect([await isLoggedIn(), (await bearer.get(`${NATIVE}/execution`)).status]).toEqual([false, 401]);
    expect((await bearer.delete(`${NATIVE}/execution/999999`)).status).toBe(401);
    expect(await entriesOf('user=gina&action=update-user')).toMatchObject([{ fields: ['groups'] }]);
    visitor = new Visitor();
    await signedOn('gina');
    expect((await bearer.get(`${NATIVE}/execution`)).status).toBe(200);
    expect(await userNamed('gina')).toMatchObject({ role_id: USER });
  });

  test('H534: a refusal at the provider is told', async () => {
    provider.next = null;
    await expectAnswer(visitor.signOn(berth()), 401, '(access_denied)');
  });

  test('H535: the callback works once, in the browser that began, with its state', async () => {
    account('grace');
    const callback = await visitor.toCallback(berth());
    const refused = async (who: Visitor, url: string, cookie?: string) => {
      const seen = await who.open(url, cookie === undefined ? {} : { headers: { cookie } });
      expect(seen.status).toBe(401);
      expect(seen.headers.getSetCookie().join().includes('berth_session')).toBe(false);
    };
    await refused(new Visitor(), callback);
    const other = new Visitor();
    await other.toCallback(berth());
    await refused(other, callback);
    const cookie = visitor.cookiesFor(callback);
    await refused(new Visitor(), callback, `${cookie}x`);
    await refused(new Visitor(), callback.replace(/state=[^&]*/, 'state=other'), cookie);
    expect((await visitor.open(callback)).status).toBe(303);
    expect(await isLoggedIn()).toBe(true);
    expect(visitor.cookiesFor(callback)).not.toContain('berth_sign_on');
    await refused(new Visitor(), callback, cookie);
    await refused(visitor, callback);
  });

  test('H774: sign-ons begun in two tabs are both completed, in either order', async () => {
    account('tabby');
    const [first, second] = [await visitor.toCallback(berth()), await visitor.toCallback(berth())];
    for (const callback of [second, first]) expect((await visitor.open(callback)).status).toBe(303);
    expect(await isLoggedIn()).toBe(true);
  });

  test('H774: a link to the callback takes no sign-on away', async () => {
    account('linda');
    const callback = await visitor.toCallback(berth());
    const { searchParams } = new URL(callback);
    const state = searchParams.get('state') ?? '';
    for (const query of [
      '',
      '?code=a',
      '?state=&code=a',
      '?error=access_denied',
      `?code=a&state=${state.slice(0, 16)}`,
      `?code=a&state=${state.slice(0, -1)}x`,
      `?code=a&state=${state}&state=x`,
      `?code=a&state=${encodeURIComponent('a;b=c\r\n')}`,
    ]) {
      const seen = await visitor.open(`${berth()}/login/oidc/callback${query}`);
      const changed = seen.headers.getSetCookie().filter((cookie) => cookie.includes('sign_on'));
      expect([query, seen.status, changed]).toEqual([query, 401, []]);
    }
    expect((await visitor.open(callback)).status).toBe(303);
  });

  test('H774: a browser keeps the latest sign-ons only, whose cookies no server refuses', async () => {
    account('many');
    const callbacks: string[] = [];
    for (let n = 0; n < 8; n++) callbacks.push(await visitor.toCallback(berth()));
    const [first = '', last = ''] = [callbacks[0], callbacks.at(-1)];
    expect(visitor.cookiesFor(last).match(/berth_sign_on_/g)).toHaveLength(5);
    expect((await visitor.open(first)).status).toBe(401);
    expect((await visitor.open(last)).status).toBe(303);
    const next = `/executions?name=${'x'.repeat(1_400)}`;
    for (let n = 0; n < 5; n++)
      await visitor.open(`${berth()}/login/oidc?next=${encodeURIComponent(next)}`, {
        headers: { 'sec-fetch-site': 'same-origin' },
      });
    expect(visitor.cookiesFor(last).length).toBeLessThan(8_000);
  });

  test('H535: another site can not begin a sign-on', async () => {
    for (const headers of [
      { 'sec-fetch-site': 'cross-site' },
      { referer: 'https://evil.example.org/' },
      {},
    ]) {
      const seen = await visitor.open(`${berth()}/login/oidc?next=/shop`, { headers });
      expect([seen.status, seen.headers.get('location')]).toEqual([303, '/login?next=%2Fshop']);
      expect(seen.headers.getSetCookie()).toEqual([]);
    }
  });

  test('H536: a session ends after the hours of the setting, and nobody returns whom the provider no longer knows', async () => {
    await signedOn('ivan');
    const sessions = 'SELECT expires_ms FROM sessions JOIN users ON users.id = user_id WHERE username = ?';
    const [row] = await queryRows(host(), sessions, ['ivan']);
    const leftS = Number(row?.expires_ms) / 1_000 - nowS();
    expect(Math.abs(leftS - 2 * HOUR_S)).toBeLessThan(60);
    const ofIvan = '(SELECT id FROM users WHERE username = ?)';
    await writeRow(host(), `UPDATE sessions SET expires_ms = 1 WHERE user_id = ${ofIvan}`, ['ivan']);
    expect(await isLoggedIn()).toBe(false);
    provider.next = null;
    visitor.forget(provider.issuer);
    const page = await visitor.signOn(berth());
    expect([page.status, await isLoggedIn()]).toEqual([401, false]);
  });

  test('H537, C280: a recent sign-on yields a personal access token, which works for some days after each sign-on', async () => {
    await signedOn('judy');
    const ofJudy = '(SELECT id FROM users WHERE username = ?)';
    const make = (name: string) => cookieOf().post(`${NATIVE}/token`, { name, scopes: ['submit'] });
    const made = await make('ci');
    expect(made.status, made.text).toBe(200);
    const bearer = anonymous.with({ authorization: `Bearer ${made.json<{ token: string }>().token}` });
    const states = async () => [
      (await bearer.get(`${NATIVE}/execution`)).status,
      (await bearer.delete(`${NATIVE}/execution/999999`)).status,
    ];
    expect(await states()).toEqual([200, 404]);
    await writeRow(host(), `UPDATE sign_ons SET tokens_until_ms = 1 WHERE user_id = ${ofJudy}`, ['judy']);
    expect(await states()).toEqual([401, 401]);
    await writeRow(host(), `UPDATE sessions SET signed_on_ms = 1 WHERE user_id = ${ofJudy}`, ['judy']);
    const refused = await make('later');
    expect(refused.status).toBe(409);
    expect(refused.reason).toContain('within the last 10 minutes');
    visitor = new Visitor();
    await signedOn('judy');
    expect(await states()).toEqual([200, 404]);
  });

  test('H537: a password of a user who signs on is not accepted', async () => {
    await signedOn('ken');
    const user = await userNamed('ken');
    const path = `${NATIVE}/user/${user?.id}`;
    for (const who of [admin, cookieOf()]) {
      const reply = await who.post(path, { password: 'a long password' });
      expect([reply.status, reply.reason]).toEqual([400, expect.stringContaining('has no password here')]);
    }
    for (const change of [{ auth_source: 'internal' }, { enabled: false }, { subject: null }])
      expect((await cookieOf().post(path, change)).status).toBe(403);
    const replies = await Promise.all(
      ['ken', 'nobody'].map((name) =>
        anonymous.with(basic(name, 'a long password')).get(`${NATIVE}/execution`),
      ),
    );
    expect(replies.map(({ status }) => status)).toEqual([401, 401]);
    expect(replies[0]?.text).toBe(replies[1]?.text);
  });

  test('H537: a user who is disabled here, or is no longer one for sign-on, does not come in', async () => {
    await signedOn('leo');
    const user = await userNamed('leo');
    for (const change of [{ enabled: false }, { enabled: true, auth_source: 'internal' }]) {
      await admin.post(`${NATIVE}/user/${user?.id}`, change);
      await expectAnswer(new Visitor().signOn(berth()), 403, 'disabled, or no longer');
    }
    expect(await isLoggedIn()).toBe(false);
  });

  test('H538, W141: a logout ends the session here and goes on to the provider', async () => {
    await signedOn('mia');
    expect(provider.requests).toContain('GET /.well-known/openid-configuration');
    const seen = await visitor.open(`${berth()}/logout`, { method: 'POST' });
    const [, url = ''] = /^0; url=(.*)$/.exec(seen.headers.get('refresh') ?? '') ?? [];
    expect(seen.status).toBe(200);
    expect(url.startsWith(`${provider.issuer}/session/end?client_id=berth`)).toBe(true);
    expect(seen.text).toContain('Log out of Example');
    expect(await isLoggedIn()).toBe(false);
    await expectAnswer(visitor.open(url), 200, 'sign-out');
  });

  test('H539: sign-ons that are begun leave nothing behind, and ask the provider nothing', async () => {
    // The coordinator's row has when it last looked for what is too old.
    const rows = async () => ({ ...(await allRows(host())), coordinator: [] });
    await visitor.open(`${berth()}/login/oidc`, { headers: { 'sec-fetch-site': 'none' } });
    const [before, asked] = [await rows(), provider.requests.length];
    const begun = Array.from({ length: 100 }, () =>
      new Visitor().open(`${berth()}/login/oidc`, { headers: { 'sec-fetch-site': 'none' } }),
    );
    for (const { status } of await Promise.all(begun)) expect([303, 429]).toContain(status);
    expect([await rows(), provider.requests.length]).toEqual([before, asked]);
  });

  test('H540: the audit log has each sign-on, the user that it created, and refused ones by network', async () => {
    await signedOn('nina');
    provider.next = null;
    await new Visitor().signOn(berth());
    const entries = async (query: string) =>
      (await entriesOf(query)).filter(({ credential }) => credential === 'oidc');
    const target = `user/${(await userNamed('nina'))?.id}`;
    const done = { outcome: 'done', request_id: expect.any(String) };
    expect(await entries('user=nina')).toMatchObject([{ ...done, action: 'log-in', target }]);
    const created = await entries(`action=create-user&target=${target}`);
    expect(created).toMatchObject([{ ...done, user: null, target_name: 'nina' }]);
    const refused = (await entries('action=log-in')).filter(({ outcome }) => outcome === 'unauthenticated');
    expect(refused[0]).toMatchObject({ user: null, request_id: null });
  });

  test('W140: the login page leads to the sign-on, and back to the wanted page', async () => {
    const { text } = await visitor.open(`${berth()}/login?next=/shop`);
    expect(text).toContain('href="/login/oidc?next=%2Fshop&amp;cookie=set"');
    expect(text).toContain('Sign on with Example');
    await signedOn('pete');
    expect((await visitor.open(`${berth()}/account`)).text).toContain('You sign on by Example');
    const { text: tokens } = await visitor.open(`${berth()}/account/tokens`);
    expect([tokens.includes('type="password"'), tokens.includes('signed on within')]).toEqual([false, true]);
    const made = await visitor.open(`${berth()}/account/tokens`, {
      ...{ method: 'POST', body: new URLSearchParams({ name: 'web', days: '1' }) },
    });
    expect([made.status, made.text]).toEqual([200, expect.stringContaining('berth_pat_')]);
  });

  test('W236: a sign-on whose cookies the browser drops says so, before the provider and at the callback', async () => {
    const headers = { 'sec-fetch-site': 'same-origin', 'x-forwarded-proto': 'https' };
    const why = expect.stringContaining('(X-Forwarded-Proto: https)');
    const link = `${berth()}/login/oidc?next=%2Fshop&cookie=set`;
    const before = await new Visitor().open(link, { headers });
    expect([before.status, before.text, before.headers.get('location')]).toEqual([400, why, null]);
    expect(before.text).toContain('name="next" value="/shop"');
    // An address that was kept has no page before it.
    const kept = new Visitor();
    const left = await kept.open(`${berth()}/login/oidc`, { headers });
    expect(left.status).toBe(303);
    const state = new URL(left.headers.get('location') ?? '').searchParams.get('state');
    kept.forget(berth());
    const callback = `${berth()}/login/oidc/callback?code=a&state=${state}`;
    const back = await kept.open(callback, { headers });
    expect([back.status, back.text]).toEqual([401, why]);
    await expectAnswer(new Visitor().open(callback), 401, 'Allow cookies for');
    const willing = new Visitor();
    await willing.open(`${berth()}/login`);
    expect((await willing.open(link, { headers: { 'sec-fetch-site': 'same-origin' } })).status).toBe(303);
    willing.forget(`${berth()}/`);
    await willing.open(`${berth()}/login`);
    expect((await willing.open(callback)).text).toContain('was not begun in this browser');
  });

  /** Allows a login of the command line, as the page that `berth login --browser` prints does. */
  const allow = async (page: string, who = visitor): Promise<string> => {
    await expectAnswer(who.open(page), 200, 'Allow it only if');
    const body = new URLSearchParams(new URL(page).searchParams);
    const seen = await who.open(`${berth()}/account/command-line`, { method: 'POST', body });
    return /^0; url=(.*)$/.exec(seen.headers.get('refresh') ?? '')?.[1] ?? '';
  };

  test('L122, L123: berth login --browser logs in who has signed on, and an administrator links users by --subject', async () => {
    await signedOn('quinn');
    const line = new CommandLine();
    const running = line.start(['login', berth(), '--browser']);
    const page = String(await eventually(() => /^http:\S+challenge=\S+$/m.exec(running.err())?.[0]));
    const back = await allow(page);
    expect(back).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/\?code=/);
    expect(await (await fetch(back)).text()).toContain('go on in the terminal');
    const { code, err } = await running.ended;
    expect([code, err]).toEqual([0, expect.stringContaining(`Logged in to ${berth()} as quinn.`)]);
    expect(await line.run(['ps', '-q'])).toEqual({ code: 0, out: '', err: '' });
    expect((await line.run(['logout'])).code).toBe(0);
    expect(await isLoggedIn()).toBe(true);
    await line.logIn(berth(), ADMIN_PASSWORD);
    const words = ['--role-id', 'user', '--quota-id', 'default', '--auth-source', 'oidc'];
    const subject = account('rose', { preferred_username: 'other' });
    const created = await line.run(['user', 'create', '--username', 'rose', ...words, '--subject', subject]);
    expect(created.code, created.err).toBe(0);
    expect((await new Visitor().signOn(berth())).text).toContain('rose');
  });

  test('H542: the code of a login by the browser is for one program, ends with the session, and lasts no longer', async () => {
    await signedOn('sam');
    const verifier = 'v'.repeat(43);
    const challenge = createHash('sha256').update(verifier).digest('base64url');
    const page = `${berth()}/account/command-line?port=5000&challenge=${challenge}`;
    const code = new URL(await allow(page)).searchParams.get('code') ?? '';
    const redeem = (body: object) => anonymous.post('/login/command-line', body);
    expect((await redeem({ code, verifier: 'w'.repeat(43) })).status).toBe(401);
    expect((await redeem({ code: `${code}x`, verifier })).status).toBe(401);
    expect((await redeem({ code: 7, verifier })).status).toBe(400);
    const made = await redeem({ code, verifier });
    expect(made.status).toBe(204);
    expect(made.headers['set-cookie']?.[0]).toContain('HttpOnly');
    const sessions = `SELECT expires_ms, signed_on_ms FROM sessions JOIN users ON users.id = user_id
        WHERE username = ? ORDER BY signed_on_ms`;
    const rows = await queryRows(host(), sessions, ['sam']);
    expect(rows.map(({ signed_on_ms }) => signed_on_ms)).toEqual([null, expect.any(Number)]);
    expect(rows[0]?.expires_ms).toBe(rows[1]?.expires_ms);
    const entries = await entriesOf('user=sam');
    expect(entries.map(({ credential }) => credential).sort()).toEqual(['oidc', 'session']);
    await visitor.open(`${berth()}/logout`, { method: 'POST' });
    expect((await redeem({ code, verifier })).status).toBe(401);
    for (const wrong of ['port=0&challenge=x', 'port=70000', ''])
      expect((await new Visitor().open(`${berth()}/account/command-line?${wrong}`)).status).toBe(303);
  });
});
