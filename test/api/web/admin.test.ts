import { expect, test } from 'vitest';
import { AccountClient, type Fields, ROLE } from '../../support/clients/account-client.ts';
import { ApiClient } from '../../support/clients/api-client.ts';
import { expectAnswer, NATIVE } from '../../support/clients/http-client.ts';
import { sessionOf, WebClient } from '../../support/clients/web-client.ts';
import { waiting } from '../../support/fixtures/descriptions.ts';
import { failLogins, passLoginDelays } from '../../support/fixtures/users.ts';
import { hosts, onHosts } from '../../support/hosts/hosts.ts';

const GIB = 1024 ** 3;
/** Entered in each field that accepts it. */
const NASTY = '"><img src=x onerror=alert(1)>';
const ESCAPED = '&quot;&gt;&lt;img src=x onerror=alert(1)&gt;';
const LOOPBACK = '127.0.0.1';
const plainLimits = { concurrent_executions: 1, memory: 0, cores: 0 };
let names = 0;
/** The unit that a form has selected for memory. */
const selectedUnit = (page: string): string | undefined => /<option value="(\w+)" selected/.exec(page)?.[1];
const newName = (prefix: string) => `${prefix}${++names}`;

onHosts(hosts, (host) => {
  const accounts = new AccountClient(host);
  const admin = WebClient.ofAdmin(host);

  /** The fields of the form of a new user. */
  const userForm = (fields: Record<string, string> = {}) => ({
    ...{ username: newName('made'), email: '', role: String(ROLE.user), quota: '1', priority: '0' },
    ...{ enabled: 'on', source: 'internal', uid: '', password: 'secret words', ...fields },
  });
  const idOf = async (username: string): Promise<number> => {
    const [id] = Object.keys((await accounts.admin.get(`user?username=${username}`)).json());
    return Number(id);
  };

  test('W90: only roles that may change the configuration have access', async () => {
    await accounts.addUser('plain');
    const plain = await WebClient.logIn(host, 'plain', 'secret words');
    const pages = ['', '/users', '/users/new', '/users/1', '/users/1/delete', '/roles', '/roles/new'];
    for (const path of [...pages, '/roles/2', '/quotas', '/quotas/new', '/quotas/1'])
      expect([path, (await plain.get(`/admin${path}`)).status]).toEqual([path, 403]);
    const forms = ['/users', '/users/1', '/users/1/password', '/users/1/delete', '/roles', '/roles/2'];
    for (const path of [...forms, '/roles/2/delete', '/quotas', '/quotas/1', '/quotas/1/delete'])
      expect([path, (await plain.post(`/admin${path}`, userForm())).status]).toEqual([path, 403]);
  });

  test('W91: a user is created with a password, found, changed, given another password, and disabled', async () => {
    const form = userForm({ email: 'ann@example.org', priority: '3' });
    const { username } = form;
    expect((await admin.act('/admin/users', form)).text).toContain(`User ${username} was created.`);
    const found = await admin.get('/admin/users?text=ANN@example');
    expect([found.text.includes(username), found.text.includes('/admin/users/1"')]).toEqual([true, false]);
    expect((await admin.get('/admin/users?text=nobody-is-so-called')).text).toContain('No matching users');
    const id = await idOf(username);
    expect(await accounts.read('user', id)).toMatchObject({ email: 'ann@example.org', priority: 3 });
    const own = await WebClient.logIn(host, username, 'secret words');
    await admin.act(`/admin/users/${id}/password`, { password: 'another one' });
    expect((await own.get('/executions')).status).toBe(303);
    await WebClient.logIn(host, username, 'another one');
    const { enabled: _, password: __, ...rest } = form;
    await admin.act(`/admin/users/${id}`, { ...rest, uid: '4711' });
    expect(await accounts.read('user', id)).toMatchObject({ enabled: false, fs_uid: 4711 });
    const { text } = await admin.get('/admin/users?state=disabled&role=3&quota=1');
    expect([text.includes(username), text.includes('">plain<')]).toEqual([true, false]);
  });

  test('W93: a refusal is shown in the form, with everything that was typed except passwords', async () => {
    const taken = await admin.post('/admin/users', userForm({ username: 'admin', email: 'x@example.org' }));
    expect([taken.status, taken.text.includes('already a user with that name')]).toEqual([409, true]);
    expect(taken.text).toContain('value="x@example.org"');
    expect(taken.text).not.toContain('value="secret words"');
    const bad = await admin.post('/admin/users', userForm({ username: 'a:b', password: '', uid: '0' }));
    expect(bad.status).toBe(400);
    for (const problem of ['username', 'password', 'uid'])
      expect(bad.text).toContain(`id="${problem}-problem"`);
    const { enabled: _, ...last } = userForm({ username: 'admin', role: String(ROLE.admin) });
    await expectAnswer(admin.post('/admin/users/1', last), 409, 'last enabled administrator');
    expect((await admin.post('/admin/users/1/password', { password: '' })).status).toBe(400);
  });

  test('W94: a deletion is confirmed first, on a page with the number of executions that it deletes', async () => {
    const name = newName('going');
    const id = await accounts.addUser(name);
    const api = new ApiClient(host, name, 'secret words');
    const [execution] = [await api.submit(waiting), await api.submit(waiting)];
    await accounts.as(name).delete(`execution/${execution}`);
    const confirmation = await admin.get(`/admin/users/${id}/delete`);
    expect(confirmation.text).toContain('Also deletes 2 executions and their logs.');
    expect((await admin.act(`/admin/users/${id}/delete`)).text).toContain(`User ${name} was deleted.`);
    expect((await admin.get(`/admin/users/${id}`)).status).toBe(404);
    expect((await accounts.admin.get(`execution/${execution}`)).status).toBe(404);
    expect((await admin.act('/admin/users/1/delete')).text).toContain('last enabled administrator');
  });

  test('W95: a role is created, changed and deleted, unless it is in use or the role of administrators', async () => {
    const name = newName('role');
    await admin.act('/admin/roles', { name, canAccessApi: 'on', canSeeStatus: 'on' });
    const { text } = await admin.get('/admin/roles');
    expect(text).toContain('Use the API, See the cluster</td>');
    const id = Number(new RegExp(`/admin/roles/(\\d+)">${name}<`).exec(text)?.[1]);
    await admin.act(`/admin/roles/${id}`, { name, canAccessApi: 'on', canOperateOthers: 'on' });
    expect(await accounts.read('role', id)).toMatchObject({
      can_see_status: false,
      can_operate_others: true,
    });
    expect((await admin.post('/admin/roles', { name })).status).toBe(409);
    const user = await accounts.addUser(newName('has'), { role_id: id });
    expect((await admin.get(`/admin/roles/${id}`)).text).toContain('user has this role');
    expect((await admin.act(`/admin/roles/${id}/delete`)).text).toContain('still in use');
    await accounts.remove('user', user);
    expect((await admin.act(`/admin/roles/${id}/delete`)).text).toContain(`Role ${name} was deleted.`);
    expect((await admin.get('/admin/roles/1')).text).toContain("can't be changed");
    expect((await admin.post('/admin/roles/1', { name: 'admin' })).status).toBe(409);
  });

  test('W96: a quota is created, changed and deleted with memory in MiB or GiB, and 0 means no limit', async () => {
    const name = newName('quota');
    const fields = { name, concurrent_executions: '3', memory: '1.5', memory_unit: 'GiB', cores: '0' };
    await admin.act('/admin/quotas', fields);
    const { text } = await admin.get('/admin/quotas');
    const id = Number(new RegExp(`/admin/quotas/(\\d+)">${name}<`).exec(text)?.[1]);
    expect(await accounts.read('quota', id)).toMatchObject({ memory: 1.5 * GIB, cores: 0 });
    await accounts.update('quota', id, { memory: 1_234_567 });
    const page = (await admin.get(`/admin/quotas/${id}`)).text;
    const shown = /name="memory"[^>]*value="([^"]*)"/.exec(page)?.[1];
    expect([shown, selectedUnit(page)]).toEqual(['1.177', 'MiB']);
    const untouched = { memory: '1.177', memory_unit: 'MiB' };
    await admin.act(`/admin/quotas/${id}`, { ...fields, ...untouched, cores: '8' });
    expect(await accounts.read('quota', id)).toMatchObject({ memory: 1_234_567, cores: 8 });
    for (const memory of ['-1', '', 'much', '1e3'])
      expect((await admin.post(`/admin/quotas/${id}`, { ...fields, memory })).status).toBe(400);
    const typed = { memory: 'much', memory_unit: 'MiB', cores: 'x' };
    const refused = (await admin.post(`/admin/quotas/${id}`, { ...fields, ...typed })).text;
    for (const problem of ['memory', 'cores']) expect(refused).toContain(`id="${problem}-problem"`);
    expect([refused.includes('value="much"'), selectedUnit(refused)]).toEqual([true, 'MiB']);
    expect((await admin.act(`/admin/quotas/${id}/delete`)).text).toContain(`Quota ${name} was deleted.`);
    expect((await admin.act('/admin/quotas/1/delete')).text).toContain('still in use');
  });

  test('W159, H481: half a core can be put in a quota, which the contract rounds up, and each bad limit states what is wrong', async () => {
    const half = newName('half');
    await admin.act('/admin/quotas', {
      ...{ name: half, concurrent_executions: '1', memory: '0', memory_unit: 'GiB', cores: '0.5' },
    });
    const coresAt = async (path: string) => {
      const quotas = (await accounts.admin.get(`${path}?name=${half}`)).json<Record<string, Fields>>();
      return Object.values(quotas).map(({ cores }) => cores);
    };
    expect([await coresAt(`${NATIVE}/quota`), await coresAt('quota')]).toEqual([[0.5], [1]]);
    const fields = { name: newName('half'), concurrent_executions: '-1', memory: '-2', cores: '0.125' };
    const { status, text } = await admin.post('/admin/quotas', { ...fields, memory_unit: 'GiB' });
    expect(status).toBe(400);
    const problemOf = (name: string) => new RegExp(`id="${name}-problem">([^<]*)<`).exec(text)?.[1];
    expect(problemOf('cores')).toContain('must have two decimals at most');
    for (const name of ['concurrent_executions', 'memory'])
      expect([name, problemOf(name)]).toEqual([name, 'must be at least 0; 0 means no limit']);
  });

  test('W96: the time limits of a quota are in minutes, and one that was not touched stays the same to the second', async () => {
    const id = await accounts.create('quota', { name: newName('timed'), ...plainLimits });
    const native = `${NATIVE}/quota/${id}`;
    const limits = async () => (await accounts.admin.get(native)).json<{ quota: Fields }>().quota;
    await accounts.admin.post(native, { time_limit: 5_401, max_time_limit: 36_000 });
    const page = (await admin.get(`/admin/quotas/${id}`)).text;
    const shown = page.matchAll(/name="(?:max_)?time_limit"[^>]*? value="([^"]*)"/g);
    expect([...shown].map(([, value]) => value)).toEqual(['90.02', '600']);
    const fields = { name: newName('timed'), concurrent_executions: '1', memory: '0', cores: '0' };
    await admin.act(`/admin/quotas/${id}`, { ...fields, time_limit: '90.02', max_time_limit: '120.5' });
    expect(await limits()).toMatchObject({ time_limit: 5_401, max_time_limit: 7_230 });
    await admin.act(`/admin/quotas/${id}`, fields);
    expect(await limits()).toMatchObject({ time_limit: 5_401, max_time_limit: 7_230 });
    for (const time_limit of ['x', '-1', '1e9', '9999999']) {
      const refused = await admin.post(`/admin/quotas/${id}`, { ...fields, time_limit });
      expect([refused.status, refused.text.includes('id="time_limit-problem"')]).toEqual([400, true]);
    }
  });

  test('W97: typed text is shown as text, and never runs', async () => {
    const form = userForm({ username: NASTY.replace('/', ''), email: NASTY });
    await admin.act('/admin/users', form);
    await admin.act('/admin/roles', { name: NASTY });
    await admin.act('/admin/quotas', { name: NASTY, concurrent_executions: '1', memory: '1', cores: '1' });
    const id = await idOf(encodeURIComponent(form.username));
    for (const path of [
      'users',
      `users/${id}`,
      `users/${id}/delete`,
      'roles',
      'quotas',
      'users?text=%22%3E%3Cimg',
    ]) {
      const { text } = await admin.get(`/admin/${path}`);
      expect([path, text.includes(ESCAPED), text.includes('<img src=x')]).toEqual([path, true, false]);
    }
  });

  test('W98: the own account shows role, quota and usage, and changes the e-mail address', async () => {
    const name = newName('own');
    const quota_id = await accounts.create('quota', {
      name,
      concurrent_executions: 3,
      memory: 0,
      cores: 2,
    });
    const id = await accounts.addUser(name, { quota_id });
    const own = await WebClient.logIn(host, name, 'secret words');
    const { text } = await own.get('/account');
    expect(text).toContain('0 of 3');
    expect(text).toContain('no limit');
    await own.act('/account/email', { email: `${name}@example.org` });
    expect(await accounts.read('user', id)).toMatchObject({ email: `${name}@example.org` });
    await expectAnswer(own.post('/account/email', { email: 'a\nb' }), 400, 'id="email-problem"');
  });

  test('W99: a user with the current password changes it, stays logged in, and is logged out everywhere else', async () => {
    const name = newName('own');
    await accounts.addUser(name);
    const [own, elsewhere] = [
      await WebClient.logIn(host, name, 'secret words'),
      await WebClient.logIn(host, name, 'secret words'),
    ];
    const change = { present: 'secret words', password: 'another one', repeated: 'another one' };
    const different = await own.post('/account/password', { ...change, repeated: 'another' });
    expect([different.status, different.text.includes('id="repeated-problem"')]).toEqual([400, true]);
    const wrong = await own.post('/account/password', { ...change, present: 'a guess' });
    expect([wrong.status, wrong.text.includes('not your current password')]).toEqual([400, true]);
    expect(wrong.text).not.toContain('another one');
    const changed = await own.post('/account/password', change);
    expect([changed.status, changed.headers.location]).toEqual([303, '/account']);
    const after = new WebClient(accounts.anonymous.with({ accept: 'text/html' }), sessionOf(changed));
    expect((await after.get('/account')).status).toBe(200);
    for (const ended of [own, elsewhere]) expect((await ended.get('/account')).status).toBe(303);
    expect((await accounts.as(name).get('login')).status).toBe(401);
    expect((await accounts.as(name, 'another one').get('login')).status).toBe(200);
  });

  test('W99: guesses of the current password are throttled like logins', async () => {
    const name = newName('own');
    await accounts.addUser(name);
    const own = await WebClient.logIn(host, name, 'secret words');
    await failLogins(host(), LOOPBACK, name, 10);
    const guess = { present: 'a guess', password: 'another one', repeated: 'another one' };
    await expectAnswer(own.post('/account/password', guess), 429, 'Too many failed logins');
    await passLoginDelays(host());
  });
});
