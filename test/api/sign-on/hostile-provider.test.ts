/** Sign-on at a provider that answers falsely, and of people who try what a browser would never do. */
import { afterAll, beforeEach, expect, test } from 'vitest';
import { CommandLine } from '../../support/clients/command-line.ts';
import { basic, expectAnswer, HttpClient, NATIVE } from '../../support/clients/http-client.ts';
import { WebClient } from '../../support/clients/web-client.ts';
import { ADMIN_PASSWORD, hosts, onHostsWith } from '../../support/hosts/hosts.ts';
import { HostileProvider, type Script } from '../../support/sign-on/hostile-provider.ts';
import { type Seen, Visitor } from '../../support/sign-on/visitor.ts';
import { eventually } from '../../support/tools/eventually.ts';

const provider = await HostileProvider.start();
afterAll(() => provider.stop());
beforeEach(() => {
  provider.script = {};
  provider.requests = [];
});

onHostsWith(provider.settings({ logoutHint: true }), hosts, (host, { kind }) => {
  const berth = () => host().url();
  const admin = new HttpClient(() => berth()).with(basic('admin', ADMIN_PASSWORD));
  let names = 0;
  let visitor: Visitor;
  beforeEach(() => {
    visitor = new Visitor();
    // Somebody new for each test, on each host.
    provider.subject = `${kind}-${++names}`;
  });
  const userNamed = async (name: string) => {
    const all = (await admin.get(`${NATIVE}/user?username=${encodeURIComponent(name)}`)).json<
      Record<string, { id: number; auth_source: string }>
    >();
    return Object.values(all)[0];
  };
  const session = ({ headers }: Seen) => headers.getSetCookie().join().includes('berth_session=');
  const isLoggedIn = async (who = visitor) => (await who.open(`${berth()}/account`)).status === 200;
  const signOn = async (script: Script, who = new Visitor()) => {
    provider.script = script;
    const page = await who.signOn(berth());
    return { page, isIn: await isLoggedIn(who) };
  };

  test('H640: what the provider says of an error is text on the page', async () => {
    const script = '<script>alert(1)</script>';
    const { page } = await signOn({
      comeBack: (query) => {
        query.delete('code');
        query.set('error', script);
        query.set('error_description', `${script}${'x'.repeat(10_000)}`);
      },
    });
    await expectAnswer(page, 401, '&lt;script&gt;alert(1)');
    expect(page.text).not.toContain(script);
    expect(page.text).not.toContain('xxxxxxxx');
  });

  test('H534: an ID token for another client logs nobody in and creates nobody, and the page says why', async () => {
    const { page, isIn } = await signOn({ claims: { aud: 'another client' } });
    expect([page.status, isIn]).toEqual([401, false]);
    for (const text of ['The sign-on is not valid', 'aud']) expect(page.text).toContain(text);
    expect(await userNamed(provider.subject)).toBeUndefined();
  });

  test('H641: a callback works once, also where the provider accepts its code again, and also at once', async () => {
    const callback = await visitor.toCallback(berth());
    const cookie = visitor.cookiesFor(callback);
    const open = () => new Visitor().open(callback, { headers: { cookie } });
    const all = await Promise.all(Array.from({ length: 4 }, open));
    expect(all.filter(session)).toHaveLength(1);
    const again = await open();
    expect([again.status, session(again)]).toEqual([401, false]);
    expect(again.text).toContain('has been completed already');
  });

  test('H641: no next leads to another site, and a long one to the first page', async () => {
    const first = await visitor.signOn(berth(), `/executions?name=${'x'.repeat(6_000)}`);
    expect([first.status, first.url, await isLoggedIn()]).toEqual([200, `${berth()}/executions`, true]);
    const within = [
      '//evil.example',
      '/\\evil.example',
      '/\t/evil.example',
      '/%2f/evil.example/..//evil.example',
    ];
    const others = ['https://evil.example', '/.//evil.example', '\\\\evil.example', 'javascript:1'];
    for (const next of [...within, ...others]) {
      const who = new Visitor();
      const page = await who.signOn(berth(), next);
      expect([next, new URL(page.url).host]).toEqual([next, new URL(berth()).host]);
    }
  });

  test('H642: subjects are told apart to the letter', async () => {
    const before = (await admin.get(`${NATIVE}/user`)).json<object>();
    const subjects = ['Same', 'same', 'same ', ' same', 'sa\u0301me', 's\u00e1me', 'x'.repeat(255)];
    const ids = new Set();
    for (const [n, sub] of subjects.entries()) {
      const name = `letter${n}`;
      const script = { claims: { sub: `${kind} ${sub}`.slice(0, 255), preferred_username: name } };
      expect([sub, (await signOn(script)).isIn]).toEqual([sub, true]);
      ids.add((await userNamed(name))?.id);
    }
    const after = (await admin.get(`${NATIVE}/user`)).json<object>();
    expect(ids.size).toBe(subjects.length);
    expect(Object.keys(after).length - Object.keys(before).length).toBe(subjects.length);
  });

  test('H642: no claim gives a name that is taken, looks like a taken one, or can be no name', async () => {
    const likeAdmin = ['admin', 'ADMIN', 'Admin', 'ａｄｍｉｎ', 'admin ', 'ad\u200bmin', '\u202enimda'];
    const noNames = ['a\u0000b', 'a/b', 'a\\b', 'a:b', '..', 'a\nb', 'x'.repeat(65), ['a'], {}];
    for (const preferred_username of [...likeAdmin, ...noNames]) {
      const { page, isIn } = await signOn({ claims: { preferred_username } });
      expect([preferred_username, page.status, isIn]).toEqual([preferred_username, 403, false]);
    }
    expect(await userNamed('admin')).toMatchObject({ id: 1, auth_source: 'internal' });
  });

  const make = async (username: string, password: string): Promise<string> => {
    const body = { username, role_id: 3, quota_id: 1 };
    const made = await admin.post(`${NATIVE}/user`, body);
    const path = `${NATIVE}/user/${made.json<{ user_id: number }>().user_id}`;
    expect((await admin.post(path, { password })).status).toBe(200);
    return path;
  };
  const subjectAt = async (path: string) =>
    (await admin.get(path)).json<{ user: { subject: string | null } }>().user.subject;

  test('H644, C299: an administrator links an internal user and unlinks it; each ends what was open, and no old password works', async () => {
    const name = `${kind} linked`;
    const [password, other] = ['the first long password', 'the second long password'];
    const path = await make(name, password);
    const statusOf = async (words: string) =>
      (await admin.with(basic(name, words)).get(`${NATIVE}/execution`)).status;
    expect([await statusOf(password), await subjectAt(path)]).toEqual([200, null]);
    const link = { subject: provider.subject, issuer: provider.issuer };
    const wrong = await admin.post(path, { ...link, issuer: 'https://other.example.org' });
    expect([wrong.status, wrong.reason]).toEqual([400, expect.stringContaining(provider.issuer)]);
    expect((await admin.post(path, { issuer: provider.issuer })).status).toBe(400);
    expect((await admin.post(path, { ...link, password: other })).status).toBe(400);
    expect((await admin.post(path, link)).status).toBe(200);
    expect([await statusOf(password), await subjectAt(path)]).toEqual([401, provider.subject]);
    expect((await signOn({}, visitor)).page.text).toContain(name);
    const cookie = new HttpClient(berth).with({ cookie: visitor.cookiesFor(berth()) });
    const token = await cookie.post(`${NATIVE}/token`, { name: 'ci', scopes: ['read', 'submit'] });
    const bearer = admin.with({ authorization: `Bearer ${token.json<{ token: string }>().token}` });
    const states = async () => [
      await isLoggedIn(),
      (await bearer.get(`${NATIVE}/execution`)).status,
      (await bearer.delete(`${NATIVE}/execution/999999`)).status,
    ];
    expect(await states()).toEqual([true, 200, 404]);
    expect((await admin.post(path, { subject: null, auth_source: 'oidc' })).status).toBe(400);
    expect((await admin.post(path, { subject: null })).status).toBe(200);
    expect(await states()).toEqual([false, 401, 401]);
    expect([await statusOf(password), await subjectAt(path)]).toEqual([401, null]);
    expect(await userNamed(name)).toMatchObject({ auth_source: 'internal' });
    expect((await admin.post(path, { subject: null, password: other })).status).toBe(200);
    expect([await statusOf(other), await states()]).toEqual([200, [false, 401, 401]]);
    const entries = await admin.get(
      `${NATIVE}/audit?action=update-user&target=${path.slice(NATIVE.length + 1)}`,
    );
    const fields = Object.values(entries.json<Record<string, { fields: string[]; outcome: string }>>())
      .filter(({ outcome }) => outcome === 'done')
      .map((entry) => entry.fields);
    expect(fields.filter((of) => of.includes('subject'))).toHaveLength(3);
    // The subject is free again.
    expect((await signOn({})).isIn).toBe(true);
    expect(await userNamed(provider.subject)).toMatchObject({ auth_source: 'oidc' });
  });

  test('H644: neither a link nor an unlink leaves Berth without an administrator with a password', async () => {
    const path = `${NATIVE}/user/1`;
    const before = (await admin.get(path)).text;
    for (const change of [{ subject: 'boss' }, { auth_source: 'oidc' }, { subject: null, enabled: false }])
      expect([change, (await admin.post(path, change)).status]).toEqual([change, 409]);
    expect((await admin.post(path, { subject: null })).status).toBe(200);
    expect((await admin.get(path)).text).toBe(before);
  });

  test('W194: the page of a user links it to a subject, shows the link, and unlinks it', async () => {
    const path = await make(`${kind} page`, 'a long password');
    const web = await WebClient.logIn(host);
    const page = `/admin/users/${path.split('/').at(-1)}`;
    expect((await web.get(page)).text).toContain('The claim'.toLowerCase());
    await expectAnswer(web.post(`${page}/link`, { subject: '' }), 400, 'aria-invalid');
    await web.act(`${page}/link`, { subject: provider.subject });
    const { text } = await web.get(page);
    expect(text).toContain(`<code>${provider.subject}</code>`);
    expect(text).not.toContain(`action="${page}/password"`);
    const other = await make(`${kind} other`, 'a long password');
    const taken = await web.post(`/admin/users/${other.split('/').at(-1)}/link`, {
      subject: provider.subject,
    });
    expect([taken.status, taken.text]).toEqual([409, expect.stringContaining('name or subject')]);
    await web.act(`${page}/unlink`, {});
    expect(await subjectAt(path)).toBeNull();
    expect((await web.get(page)).text).toContain(`action="${page}/password"`);
  });

  test('L136, L137: berth user update links by --subject and --issuer, unlinks by --no-subject, and get shows the subject', async () => {
    const line = new CommandLine();
    await line.logIn(berth(), ADMIN_PASSWORD);
    const name = `${kind}-line`;
    await make(name, 'a long password');
    const run = (...words: string[]) => line.run(['user', ...words]);
    const link = ['update', name, '--subject', provider.subject, '--issuer'];
    expect(await run(...link, 'https://other.example.org')).toMatchObject({
      code: 125,
      err: expect.stringContaining('issuer: users sign on by'),
    });
    expect((await run(...link, provider.issuer)).code).toBe(0);
    expect((await run('get', name)).out).toMatch(new RegExp(`subject +${provider.subject}`));
    expect((await run('update', name, '--no-subject')).code).toBe(0);
    expect(JSON.parse((await run('get', name, '--json')).out)).toMatchObject({ subject: null });
  });

  test('H646: metrics have the requests at the provider, those that wait, and their bounds', async () => {
    const figures = async () => {
      const { text } = await admin.get('/metrics');
      return [...text.matchAll(/^berth_limit(_used)?\{name="(\w*sign_ons)",setting=""\} (\d+)$/gm)].map(
        ([, used = '', name, value]) => `${name}${used} ${value}`,
      );
    };
    const idle = ['sign_ons 32', 'waiting_sign_ons 256', 'sign_ons_used 0', 'waiting_sign_ons_used 0'];
    expect(await figures()).toEqual(idle);
    const held: (() => void)[] = [];
    provider.script = {
      paths: { '/token': (response) => void held.push(() => response.writeHead(500).end()) },
    };
    const callbacks = await Promise.all(
      Array.from({ length: 10 }, async () => {
        const who = new Visitor();
        return [who, await who.toCallback(berth())] as const;
      }),
    );
    const opened = callbacks.map(([who, url]) => who.open(url));
    const busy = [...idle.slice(0, 2), 'sign_ons_used 8', 'waiting_sign_ons_used 2'];
    // Each isolate of a Worker counts its own requests.
    if (kind === 'node') await eventually(async () => (await figures()).join() === busy.join());
    await eventually(() => {
      for (const end of held.splice(0)) end();
      return provider.requests.filter((one) => one === 'POST /token').length >= 10;
    });
    for (const end of held.splice(0)) end();
    await Promise.all(opened);
    expect(await figures()).toEqual(idle);
  });

  test('H647: with logoutHint the ID token is sealed in a cookie for the logout, and goes to the provider in a body', async () => {
    const long = await signOn({ claims: { groups: 'x'.repeat(4_000) } }, visitor);
    expect(long.isIn).toBe(true);
    expect(visitor.cookiesFor(`${berth()}/logout`)).not.toContain('berth_logout');
    visitor = new Visitor();
    await signOn({}, visitor);
    const cookies = visitor.cookiesFor(`${berth()}/logout`);
    expect(cookies).toContain('berth_logout=');
    expect(visitor.cookiesFor(`${berth()}/account`)).not.toContain('berth_logout');
    for (const piece of provider.idToken.split('.')) expect(cookies).not.toContain(piece);
    const { headers, text, status } = await visitor.open(`${berth()}/logout`, { method: 'POST' });
    expect([status, headers.get('refresh')]).toEqual([200, null]);
    expect(text).toContain(`action="${provider.issuer}/logout"`);
    expect(text).toContain(`name="id_token_hint" value="${provider.idToken}"`);
    expect(headers.get('content-security-policy')).toContain(`form-action 'self' https: ${provider.issuer}`);
    expect(visitor.cookiesFor(`${berth()}/logout`)).not.toContain('berth_');
    expect(provider.requests.join()).not.toContain(provider.idToken);
    expect(await isLoggedIn()).toBe(false);
  });
});
