/** Users of `ldap`: a directory and a control plane on Node. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { AccountClient, plain } from '../../../support/clients/account-client.ts';
import { basic, expectAnswer, NATIVE } from '../../../support/clients/http-client.ts';
import { formOf, PAGE, sessionOf, WebClient } from '../../../support/clients/web-client.ts';
import { DirectoryServer, GROUPS, PEOPLE, READER } from '../../../support/directory/directory-server.ts';
import { type Host, startHost } from '../../../support/hosts/hosts.ts';

const PASSWORD = 'words of the directory';
const STORED = 'words that Berth stores';
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

const names = [
  'jim',
  'kim',
  'ann',
  'bob',
  'carl',
  'dora',
  'emil',
  'fay',
  'gus',
  'hal',
  'ina',
  'lea',
  'Éva',
  'max',
];

let server: DirectoryServer;
let node: Host;
const accounts = new AccountClient(() => node);
const as = (username: string, password = PASSWORD) => accounts.as(username, password);
const statusOf = async (username: string, password = PASSWORD): Promise<number> =>
  (await as(username, password).get('login')).status;
const addDirectoryUser = (username: string) =>
  accounts.create('user', { username, ...plain, auth_source: 'ldap' });

beforeAll(async () => {
  server = await DirectoryServer.start(
    names.map((uid) => ({ uid, password: PASSWORD })),
    { operators: ['jim'], staff: names.filter((one) => !['kim', 'max'].includes(one)) },
  );
  node = await startHost(
    { kind: 'node', variant: 'B' },
    {
      BERTH_LDAP_URL: server.tlsUrl,
      BERTH_LDAP_USERS: `uid={name},${PEOPLE}`,
      BERTH_LDAP_BIND_PASSWORD: READER.password,
      BERTH_LDAP_OPTIONS: JSON.stringify({
        ca: server.authority.ca,
        bindDn: READER.dn,
        groupBase: GROUPS,
        groups: [
          { group: `CN=operators, ${GROUPS}`, role: 'admin' },
          { group: `cn=staff,${GROUPS}`, role: 'user' },
        ],
      }),
    },
  );
  await accounts.addUser('internal', {}, STORED);
});
afterAll(async () => {
  await node?.stop();
  await server?.stop();
});
/** Runs the work while the directory is down. */
const withoutServer = async (work: () => Promise<void>) => {
  await server.end();
  await work().finally(() => server.start());
};

test('H550: a user of ldap logs in with the password of the directory, and with no other one', async () => {
  await accounts.addUser('ann', {}, STORED);
  expect(await statusOf('ann')).toBe(401);
  const [id = ''] = Object.keys((await accounts.admin.get('user?username=ann')).json());
  await accounts.update('user', Number(id), { auth_source: 'ldap' });
  expect([await statusOf('ann'), await statusOf('ann', STORED), await statusOf('ann', '')]).toEqual([
    200, 401, 401,
  ]);
  const cookie = sessionOf(await as('ann').get('login'));
  expect((await accounts.anonymous.with({ cookie }).get('execution')).status).toBe(200);
  await WebClient.logIn(() => node, 'ann', PASSWORD);
  // The directory has hal, and Berth has not.
  expect(await statusOf('hal')).toBe(401);
  await accounts.update('user', Number(id), { enabled: false });
  const replies = [await as('ann').get('login'), await as('nobody').get('login')];
  expect(replies.map(({ status }) => status)).toEqual([401, 401]);
  expect(replies[0]?.text).toBe(replies[1]?.text);
});

test('H555, H557: while the directory is down, its users get 503, all others log in, and no answer shows which names exist', async () => {
  await addDirectoryUser('carl');
  const token = await tokenOf('carl');
  await withoutServer(async () => {
    await expectAnswer(as('carl', 'not yet verified').get('login'), 503, 'directory');
    expect(await statusOf('internal', STORED)).toBe(200);
    expect(await statusOf('internal', 'wrong')).toBe(401);
    expect((await accounts.anonymous.with(bearer(token)).get(`${NATIVE}/execution`)).status).toBe(200);
    const form = formOf({ username: 'carl', password: 'another' });
    await expectAnswer(accounts.anonymous.with(PAGE).send('POST', '/login', form), 503, 'does not answer');
    const strangers = Array.from({ length: 10 }, (_, n) => `stranger ${n}`);
    const answers = async () => Promise.all(strangers.map((name) => statusOf(name)));
    const first = await answers();
    expect(new Set(first)).toEqual(new Set([401, 503]));
    expect(await answers()).toEqual(first);
  });
  expect(await statusOf('carl')).toBe(200);
  expect(node.output()).toContain('directory.failed');
  expect(node.output()).not.toContain(PASSWORD);
});

const tokenOf = async (username: string): Promise<string> => {
  const reply = await as(username).post(`${NATIVE}/token`, { name: 'program', scopes: ['read'] });
  expect(reply.status, reply.text).toBe(200);
  return String(reply.json().token);
};

test('H558: a user of ldap makes personal access tokens, and shows the password of the directory for it', async () => {
  await addDirectoryUser('dora');
  const token = await tokenOf('dora');
  expect((await accounts.anonymous.with(basic('dora', token)).get('login')).status).toBe(200);
  const cookie = sessionOf(await as('dora').get('login'));
  const create = (current_password: string) =>
    accounts.anonymous
      .with({ cookie })
      .post(`${NATIVE}/token`, { name: current_password, scopes: ['read'], current_password });
  expect([(await create('wrong')).status, (await create(PASSWORD)).status]).toEqual([400, 200]);
});

test('H649: groups of the directory give role and quota at each login, and members of none are refused', async () => {
  const id = await addDirectoryUser('jim');
  const roleOf = async () =>
    (await accounts.admin.get(`user/${id}`)).json<{ user: { role_id: number } }>().user.role_id;
  expect(await roleOf()).not.toBe(1);
  expect(await statusOf('jim', 'wrong')).toBe(401);
  expect(await roleOf()).not.toBe(1);
  const first = await as('jim').get('login');
  expect([first.status, await roleOf()]).toEqual([200, 1]);
  const cookie = sessionOf(first);
  expect((await accounts.anonymous.with({ cookie }).get('role')).status).toBe(200);
  await addDirectoryUser('kim');
  await expectAnswer(as('kim').get('login'), 403, 'none of the groups');
  expect(await statusOf('kim', 'wrong')).toBe(401);
  expect(await statusOf('internal', STORED)).toBe(200);
  const audit = await accounts.admin.get(`${NATIVE}/audit?user=jim&action=update-user`);
  expect(Object.values(audit.json<Record<string, object>>())).toMatchObject([
    { credential: 'ldap', fields: ['role_id', 'quota_id'], target: `user/${id}` },
  ]);
});

test('H776: a name in any capitals is one user, with one count of failures, and a second one can not be made', async () => {
  const ids = [await addDirectoryUser('lea'), await addDirectoryUser('Éva')];
  const ownId = async (name: string) =>
    (await as(name).get('login')).json<{ user: { id: number } }>().user.id;
  for (const name of ['lea', 'LEA', 'Lea', '\uff2cea'])
    expect([name, await ownId(name)]).toEqual([name, ids[0]]);
  for (const name of ['éva', 'E\u0301VA']) expect([name, await ownId(name)]).toEqual([name, ids[1]]);
  for (const name of ['l_a', 'l%', 'lea ', 'leah']) expect([name, await statusOf(name)]).toEqual([name, 401]);
  const token = await tokenOf('LEA');
  expect((await accounts.anonymous.with(basic('Lea', token)).get('login')).status).toBe(200);
  expect(await WebClient.logIn(() => node, 'LEA', PASSWORD)).toBeDefined();

  const make = (username: string, auth_source = 'ldap') =>
    accounts.statusOf('POST', 'user', { username, ...plain, auth_source });
  for (const name of ['LEA', '\uff2cea', 'éva', 'ÉVA']) expect([name, await make(name)]).toEqual([name, 409]);
  const own = await accounts.addUser('Lea', {}, STORED);
  expect(await statusOf('Lea', STORED)).toBe(200);
  expect(await ownId('LEA')).toBe(ids[0]);
  expect(await accounts.statusOf('POST', `user/${own}`, { auth_source: 'ldap' })).toBe(409);
  expect(await accounts.statusOf('POST', `user/${ids[0]}`, { email: 'lea@example.org' })).toBe(200);

  const typed = ['éva', 'Éva', 'ÉVA', 'éVA'];
  for (let n = 0; n < 10; n++) expect(await statusOf(typed[n % 4] ?? '', `wrong ${n}`)).toBe(401);
  expect(await statusOf('éva', 'wrong')).toBe(429);
});

test('H823: of users of the directory with one name, made or changed at once, there is one', async () => {
  const make = (username: string) =>
    accounts.statusOf('POST', 'user', { username, ...plain, auth_source: 'ldap' });
  const made = await Promise.all(['zed', 'Zed', 'ZED', 'zEd'].map(make));
  expect(made.filter((status) => status === 409)).toHaveLength(3);
  const others = ['émil', 'Émil', 'ÉMIL'];
  const ids = await Promise.all(others.map((name) => accounts.addUser(name, {}, STORED)));
  const changed = await Promise.all(
    ids.map((id) => accounts.statusOf('POST', `user/${id}`, { auth_source: 'ldap' })),
  );
  expect(changed.toSorted()).toEqual([200, 409, 409]);
  const winner = ids[changed.indexOf(200)];
  const renamed = await Promise.all([
    accounts.statusOf('POST', `user/${winner}`, { username: 'Ida' }),
    ...['ida', 'IDA'].map(make),
  ]);
  expect(renamed.filter((status) => status === 409)).toHaveLength(2);
});

test('H649: who is in no group any more has no working token', async () => {
  const id = await addDirectoryUser('max');
  await accounts.update('user', id, { auth_source: 'internal', password: STORED });
  const reply = await as('max', STORED).post(`${NATIVE}/token`, { name: 'program', scopes: ['submit'] });
  const program = accounts.anonymous.with(bearer(String(reply.json().token)));
  await accounts.update('user', id, { auth_source: 'ldap' });
  const states = async () => [
    (await program.get(`${NATIVE}/execution`)).status,
    (await program.delete(`${NATIVE}/execution/999999`)).status,
  ];
  expect(await states()).toEqual([200, 404]);
  expect(await statusOf('max')).toBe(403);
  expect(await states()).toEqual([401, 401]);
});

test('H560: nobody sets a password of a user of ldap here', async () => {
  const id = await addDirectoryUser('emil');
  for (const client of [accounts.admin, as('emil')]) {
    const reply = await client.post(`user/${id}`, { password: 'a new one, long' });
    expect([reply.status, reply.text]).toEqual([400, expect.stringContaining('that of the directory')]);
  }
  await accounts.update('user', id, { auth_source: 'internal', password: STORED });
  expect(await statusOf('emil', STORED)).toBe(200);
  expect(await accounts.statusOf('POST', `user/${id}`, { auth_source: 'ldap', password: STORED })).toBe(400);
});

test('H561: the audit log has what a user of ldap does by the password of the directory as ldap', async () => {
  const id = await addDirectoryUser('fay');
  await as('fay').get('login');
  await as('fay').post(`user/${id}`, { email: 'fay@example.org' });
  await as('internal', STORED).get('login');
  const waysOf = async (user: string) => {
    const entries = (await accounts.admin.get(`${NATIVE}/audit?user=${user}`)).json<
      Record<string, { action: string; credential: string }>
    >();
    return Object.values(entries).map(({ action, credential }) => `${action} by ${credential}`);
  };
  expect(await waysOf('fay')).toEqual(['log-in by ldap', 'update-user by ldap']);
  expect(new Set(await waysOf('internal'))).toEqual(new Set(['log-in by password']));
});

test('H562: metrics count logins by way, and refused ones by reason', async () => {
  const figure = async (sample: string): Promise<number> => {
    const text = (await accounts.admin.get('/metrics')).text;
    return Number(
      text
        .split('\n')
        .find((line) => line.startsWith(sample))
        ?.slice(sample.length),
    );
  };
  const samples = [
    ...['internal', 'ldap', 'token'].map((way) => `berth_logins_total{way="${way}"}`),
    ...['wrong', 'no-answer'].map((reason) => `berth_refused_logins_total{reason="${reason}"}`),
  ];
  const all = () => Promise.all(samples.map(figure));
  const id = await addDirectoryUser('gus');
  await accounts.addUser('other', {}, STORED);
  const token = await tokenOf('gus');
  const before = await all();
  await accounts.update('user', id, { email: '' });
  for (let n = 0; n < 3; n++) await as('other', STORED).get('login');
  for (let n = 0; n < 3; n++) await accounts.anonymous.with(bearer(token)).get(`${NATIVE}/execution`);
  await as('gus', 'wrong').get('login');
  await withoutServer(async () => void (await as('gus', 'any').get('login')));
  const after = await all();
  expect(after.map((value, at) => value - (before[at] ?? 0))).toEqual([1, 0, 1, 1, 1]);
  const bound = 'berth_limit{name="waiting_directory_logins",setting="BERTH_LIMITS.waitingLogins"}';
  expect(await figure(bound)).toBe(1_024);
});

test('W144: the page of the account says that the password is that of the directory', async () => {
  const id = await addDirectoryUser('ina');
  const own = await WebClient.logIn(() => node, 'ina', PASSWORD);
  const { text } = await own.get('/account');
  expect(text).toContain('it is that of the directory, and is changed there');
  expect(text).not.toContain('action="/account/password"');
  const form = { present: PASSWORD, password: 'a new one, long', repeated: 'a new one, long' };
  await expectAnswer(own.post('/account/password', form), 400, 'that of the directory');
  await accounts.remove('user', id);
});

test('W145, W146: the page of a user tells how the user logs in; a user of ldap is made without a password', async () => {
  const admin = await WebClient.logIn(() => node);
  const form = (fields: Record<string, string>) => ({
    ...{ username: 'ina', email: '', role: '3', quota: '1', priority: '0', enabled: 'on' },
    ...{ source: 'ldap', uid: '', password: '', ...fields },
  });
  for (const wrong of [{ password: STORED }, { source: 'internal' }])
    expect((await admin.post('/admin/users', form(wrong))).text).toMatch(/must( not)? be empty/);
  await admin.act('/admin/users', form({}));
  expect(await statusOf('ina')).toBe(200);
  const [id = ''] = Object.keys((await accounts.admin.get('user?username=ina')).json());
  const page = (await admin.get(`/admin/users/${id}`)).text;
  expect(page).toContain('ina logs in by the password of the directory (LDAP)');
  expect(page).not.toContain(`action="/admin/users/${id}/password"`);
  const logins = /href="(\/admin\/audit\?[^"]*)"/.exec(page)?.[1]?.replaceAll('&amp;', '&') ?? '';
  expect((await admin.get(logins)).text).toMatch(/<td[^>]*>ina<\/td>\s*<td>ldap<\/td>/);
  expect((await admin.get('/admin/users/1')).text).toContain('admin logs in by a password that Berth stores');
});
