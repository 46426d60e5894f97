import { beforeAll, expect, test } from 'vitest';
import { AccountClient, type Fields, type Kind, plain, ROLE } from '../../support/clients/account-client.ts';
import { hosts, onHosts } from '../../support/hosts/hosts.ts';

const QUOTA = { concurrent_executions: 1, memory: 2 ** 40, cores: 3 };
const FLAGS = {
  can_change_config: false,
  can_delete_executions: true,
  can_see_status: false,
  can_access_full_app_shop: true,
  can_operate_others: false,
  can_customize_resources: true,
  can_access_api: true,
};

onHosts([{ kind: 'node', variant: 'A' }], (host) => {
  test('H90: in group A the endpoints of users, roles and quotas are 404', async () => {
    const { admin } = new AccountClient(host);
    for (const kind of ['user', 'role', 'quota'])
      for (const path of [kind, `${kind}/1`])
        for (const method of ['GET', 'POST', 'DELETE'])
          expect((await admin.send(method, path)).status, `${method} ${path}`).toBe(404);
  });
});

onHosts(hosts, (host) => {
  const accounts = new AccountClient(host);
  const { admin } = accounts;

  let alice = 0;
  beforeAll(async () => {
    alice = await accounts.addUser('alice');
  });

  const good: Record<Kind, (name: string) => Fields> = {
    user: (username) => ({ username, ...plain }),
    role: (name) => ({ name }),
    quota: (name) => ({ name, ...QUOTA }),
  };

  test('H91: without can_change_config, an invalid body, filter or id is 403 as well', async () => {
    expect(await accounts.statusOf('POST', 'user', { nonsense: 1 }, accounts.as('alice'))).toBe(403);
    expect(await accounts.statusOf('GET', 'role?nonsense=1', undefined, accounts.as('alice'))).toBe(403);
    expect(await accounts.statusOf('GET', 'user/999', undefined, accounts.as('alice'))).toBe(403);
  });

  test('H91: users must not change anything else of themselves', async () => {
    const before = await accounts.read('user', alice);
    for (const fields of [
      ...[{ role_id: 1 }, { quota_id: 1 }, { username: 'root' }, { enabled: true }, { priority: 9 }],
      ...[{ fs_uid: 1 }, { auth_source: 'ldap' }, { email: 'x', role_id: 1 }],
    ])
      expect(await accounts.statusOf('POST', `user/${alice}`, fields, accounts.as('alice'))).toBe(403);
    expect(await accounts.read('user', alice)).toEqual(before);
  });

  test('H92: users, roles and quotas have the fields of the contract', async () => {
    const fields = {
      username: 'full',
      email: 'full@example.org',
      role_id: 2,
      quota_id: 1,
      auth_source: 'ldap',
    };
    const id = await accounts.create('user', fields);
    const rest = { fs_uid: expect.any(Number), priority: 0, enabled: true };
    expect(await accounts.read('user', id)).toEqual({ id, ...fields, ...rest });
    const role = await accounts.create('role', { name: 'shapes', ...FLAGS });
    expect(await accounts.read('role', role)).toEqual({ id: role, name: 'shapes', ...FLAGS });
    const quota = await accounts.create('quota', { name: 'shapes', ...QUOTA });
    expect(await accounts.read('quota', quota)).toEqual({ id: quota, name: 'shapes', ...QUOTA });
  });

  test.each<Kind>(['user', 'role', 'quota'])(
    'H92: the list maps the id of each %s to its object, and an unknown one is 404',
    async (kind) => {
      const all = (await admin.get(kind)).json<Record<string, Fields>>();
      expect(all['1']).toEqual(await accounts.read(kind, 1));
      expect(Object.values(all).map(({ id }) => `${id}`)).toEqual(Object.keys(all));
      for (const id of ['999', '0', '-1', 'x']) {
        expect(await accounts.statusOf('GET', `${kind}/${id}`), id).toBe(404);
        expect(await accounts.statusOf('POST', `${kind}/${id}`, {}), id).toBe(404);
        expect(await accounts.statusOf('DELETE', `${kind}/${id}`), id).toBe(404);
      }
    },
  );

  test('H93: a new user has no password and the next free file system id', async () => {
    const one = await accounts.read('user', await accounts.create('user', good.user('n1')));
    const two = await accounts.read('user', await accounts.create('user', good.user('n2')));
    expect(one).toMatchObject({ email: '', auth_source: 'internal', priority: 0, enabled: true });
    expect(two.fs_uid).toBe(Number(one.fs_uid) + 1);
    for (const password of ['', 'null'])
      expect(await accounts.statusOf('GET', 'login', undefined, accounts.as('n1', password))).toBe(401);
  });

  test('H94: an update of a user changes the given fields and nothing else', async () => {
    const id = await accounts.addUser('partial', { email: 'a@b' });
    let expected = await accounts.read('user', id);
    const quota_id = await accounts.create('quota', { name: 'partial', ...QUOTA });
    for (const fields of [
      { username: 'whole', quota_id, priority: -4 },
      { fs_uid: 4_242, enabled: false, auth_source: 'pam', role_id: 2, email: '' },
      {},
    ]) {
      await accounts.update('user', id, fields);
      expected = { ...expected, ...fields };
      expect(await accounts.read('user', id)).toEqual(expected);
    }
  });

  test('H94: an update of a role or quota changes the given fields and nothing else', async () => {
    const role = await accounts.create('role', { name: 'r1', ...FLAGS });
    const changed = { can_see_status: true, can_delete_executions: false };
    await accounts.update('role', role, changed);
    expect(await accounts.read('role', role)).toEqual({ id: role, name: 'r1', ...FLAGS, ...changed });
    const quota = await accounts.create('quota', { name: 'q1', ...QUOTA });
    await accounts.update('quota', quota, { memory: 0, name: 'q2' });
    expect(await accounts.read('quota', quota)).toEqual({ id: quota, ...QUOTA, name: 'q2', memory: 0 });
  });

  test("H687: can_exec is optional, on by default, and shown only below Berth's own path", async () => {
    const own = async (id: number) => (await accounts.admin.get(`/native/api/0.7/role/${id}`)).json();
    const [role, other] = [
      await accounts.create('role', { name: 'may run', ...FLAGS }),
      await accounts.create('role', { name: 'may not', ...FLAGS, can_exec: false }),
    ];
    expect(await accounts.read('role', other)).toEqual({ id: other, name: 'may not', ...FLAGS });
    expect(await own(role)).toEqual({ role: { id: role, name: 'may run', ...FLAGS, can_exec: true } });
    expect(await own(other)).toMatchObject({ role: { can_exec: false } });
    await accounts.update('role', role, { can_exec: false });
    await accounts.update('role', other, { can_see_status: true });
    expect([await own(role), await own(other)]).toMatchObject([
      { role: { can_exec: false } },
      { role: { can_exec: false, can_see_status: true } },
    ]);
  });

  const bad: [kind: Kind, fields: Fields][] = [
    ['user', { nonsense: 1 }],
    ['user', { id: 5 }],
    ['user', { credential_version: 5 }],
    ['user', { deleted: 1 }],
    ['user', { username: '' }],
    ['user', { username: 'x'.repeat(65) }],
    ['user', { username: 'a:b' }],
    ['user', { username: '..' }],
    ['user', { username: 'a\nb' }],
    ['user', { username: ' a' }],
    ['user', { email: 'x'.repeat(255) }],
    ['user', { email: null }],
    ['user', { role_id: 999 }],
    ['user', { quota_id: 999 }],
    ['user', { role_id: '1' }],
    ['user', { quota_id: 1.5 }],
    ['user', { enabled: 1 }],
    ['user', { priority: 2 ** 60 }],
    ['user', { fs_uid: 0 }],
    ['role', { nonsense: true }],
    ['role', { can_access_api: 1 }],
    ['role', { name: '' }],
    ['quota', { nonsense: 1 }],
    ['quota', { cores: -1 }],
    ['quota', { memory: 0.5 }],
    ['quota', { name: 'a\u0000' }],
  ];
  test.each(bad)('H95: a %s with %o is 400 and nothing is stored', async (kind, fields) => {
    const before = (await admin.get(kind)).text;
    const id = kind === 'user' ? alice : kind === 'role' ? ROLE.user : 1;
    expect(await accounts.statusOf('POST', `${kind}/${id}`, { ...fields })).toBe(400);
    expect(await accounts.statusOf('POST', kind, { ...good[kind]('good'), ...fields })).toBe(400);
    expect((await admin.get(kind)).text).toBe(before);
  });

  test('H94: a password is set by an update only', async () => {
    const withPassword = { username: 'pw', ...plain, password: 'secret words' };
    expect(await accounts.statusOf('POST', 'user', withPassword)).toBe(400);
    for (const password of ['', 'x'.repeat(1_025), 5, null])
      expect(await accounts.statusOf('POST', `user/${alice}`, { password })).toBe(400);
  });

  test.each<[Kind, Fields]>([
    ['user', { username: 'alice' }],
    ['role', { name: 'superuser' }],
    ['quota', { name: 'default' }],
  ])('H95: the name of a %s that is taken is 409', async (kind, name) => {
    const other = good[kind]('other');
    expect(await accounts.statusOf('POST', kind, { ...other, ...name })).toBe(409);
    const id = await accounts.create(kind, other);
    expect(await accounts.statusOf('POST', `${kind}/${id}`, name)).toBe(409);
    await accounts.remove(kind, id);
  });

  test('H96: users are filtered by each field, and by several at once', async () => {
    const role_id = await accounts.create('role', { name: 'filters' });
    const quota_id = await accounts.create('quota', { name: 'filters', ...QUOTA });
    const rest = { role_id, quota_id, email: 'f@example.org', auth_source: 'f-source', priority: 77 };
    const one = await accounts.create('user', { username: 'f1', ...rest, enabled: false });
    const two = await accounts.create('user', { username: 'f2', ...rest });
    const found = async (query: string) => Object.keys((await admin.get(`user?${query}`)).json());
    for (const [name, value] of Object.entries(rest)) {
      expect(await found(`${name}=${encodeURIComponent(value)}`), name).toEqual([`${one}`, `${two}`]);
    }
    expect(await found('username=f2')).toEqual([`${two}`]);
    expect(await found(`role_id=${role_id}&enabled=False`)).toEqual([`${one}`]);
    expect(await found(`role_id=${role_id}&enabled=true&username=f1`)).toEqual([]);
  });

  test.each<Kind>(['role', 'quota'])('H96: a %s is found by its name', async (kind) => {
    const name = kind === 'role' ? 'superuser' : 'default';
    const found = (await admin.get(`${kind}?name=${name}`)).json<Record<string, Fields>>();
    expect(Object.values(found).map((one) => one.name)).toEqual([name]);
    expect((await admin.get(`${kind}?name=nobody`)).json()).toEqual({});
  });

  test('H96: a list with a filter that is not valid is 400', async () => {
    const users = ['name=x', 'enabled=maybe', 'priority=1.5', 'role_id=', 'email=a&email=b', '__proto__=1'];
    for (const path of [...users.map((query) => `user?${query}`), 'role?id=1', 'quota?cores=1'])
      expect(await accounts.statusOf('GET', path), path).toBe(400);
  });
});
