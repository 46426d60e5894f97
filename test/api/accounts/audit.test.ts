/** The audit log: one control plane of each host serves all tests. */
import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import type { AuditEntry } from '../../../client/api-types.ts';
import { openApiDocument } from '../../../control-plane/http/api/document.ts';
import { variants } from '../../../control-plane/http/variants/choose.ts';
import { makeJoinToken } from '../../../control-plane/operations/cluster/join-tokens.ts';
import { Seal } from '../../../control-plane/operations/secrets/seal.ts';
import { insertAudits } from '../../../control-plane/store/accounts/audit.ts';
import { registeredHost } from '../../support/agents/scripted-agent.ts';
import { basic, HttpClient, NATIVE, type Reply } from '../../support/clients/http-client.ts';
import { WebClient } from '../../support/clients/web-client.ts';
import { application, service } from '../../support/fixtures/descriptions.ts';
import { addUser } from '../../support/fixtures/users.ts';
import {
  ADMIN_PASSWORD,
  type Host,
  hostsOf,
  onHostsWith,
  queryRows,
  writeRow,
} from '../../support/hosts/hosts.ts';

const PASSWORD = 'secret words';

/** Operations that the document has as POST, and that change nothing. */
const HARMLESS = ['post /app_validate', 'post /execution/explain', 'post /shop/{id}'];

/** The operations of both groups that may change something. */
function changingOperations(): string[] {
  const documents = [openApiDocument(variants.A), openApiDocument(variants.B)];
  const all = documents.flatMap(({ paths }) =>
    Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method} ${path}`),
    ),
  );
  return [...new Set(all)].filter((one) => !one.startsWith('get ') && !HARMLESS.includes(one));
}

const KEYS = [randomBytes(32).toString('base64'), randomBytes(32).toString('base64')];

/** Stores a secret of the administrator as if the second key had been the first one. */
async function sealWithOtherKey(host: Host, name: string): Promise<void> {
  const place = { kind: 'secret', userId: 1, name } as const;
  const { keyId, text } = await new Seal(KEYS.slice(1)).close(place, Buffer.from('earlier value'));
  await writeRow(host, 'UPDATE user_secrets SET key_id = ?, sealed = ? WHERE name = ?', [keyId, text, name]);
}

onHostsWith({ BERTH_SECRET_KEYS: KEYS.join(',') }, hostsOf('A'), (host, { kind }) => {
  // On Cloudflare, the platform sets the header.
  const address = kind === 'node' ? '127.0.0.1' : '192.0.2.7';
  const anonymous = new HttpClient(() => host().url(), { 'cf-connecting-ip': '192.0.2.7' });
  const as = (username: string, password = PASSWORD) => anonymous.with(basic(username, password));
  const admin = as('admin', ADMIN_PASSWORD);
  const list = async (query = ''): Promise<AuditEntry[]> => {
    const reply = await admin.get(`${NATIVE}/audit?${query}`);
    expect(reply.status, reply.text).toBe(200);
    return Object.values(reply.json<Record<string, AuditEntry>>()).sort((one, other) => other.id - one.id);
  };
  const entryOf = async ({ headers }: Reply): Promise<AuditEntry | undefined> =>
    (await list('limit=1000')).find(({ request_id }) => request_id === headers['x-request-id']);
  const idIn = (reply: Reply, field: string) => Number(reply.json()[field]);

  test('H461: what the control plane makes by itself has an entry without a user', async () => {
    const made = { user: null, user_id: null, credential: 'none', address: null, outcome: 'done' };
    const first = (await list('limit=1000')).at(-1);
    expect(first).toMatchObject({ ...made, action: 'create-user', target: 'user/1', target_name: 'admin' });
    const db = await host().openDb();
    await makeJoinToken(db, Date.now()).finally(() => db.close());
    expect(await list('limit=1')).toMatchObject([{ ...made, action: 'create-join-token', target: null }]);
  });

  test('H460, H461, H463, H466: every operation of the document that changes something has its row, without its secrets', async () => {
    const [password, next] = [randomBytes(12).toString('base64'), `"\\${randomBytes(12).toString('base64')}`];
    const secrets = [ADMIN_PASSWORD, password, next];
    const proved: Record<string, AuditEntry | undefined> = {};
    const does = async (
      operation: string,
      client: HttpClient,
      [action, ...target]: [string, (string | null)?],
      { path, body }: { path: string; body?: object },
    ): Promise<Reply> => {
      const method = (operation.split(' ')[0] ?? '').toUpperCase();
      const reply = await client.send(method, path, body && JSON.stringify(body));
      expect(reply.status, `${operation}: ${reply.text}`).toBe(200);
      const entry = await entryOf(reply);
      expect(entry, operation).toMatchObject({ action, outcome: 'done', count: 1, address });
      if (target.length > 0) expect(entry?.target, operation).toBe(target[0]);
      proved[operation] = entry;
      return reply;
    };
    const native = (path: string) => `${NATIVE}/${path}`;
    const quota = { name: 'for audit', concurrent_executions: 1, memory: 1, cores: 1 };
    const objects = [
      ['quota', quota, { cores: 2 }],
      ['role', { name: 'for audit' }, { can_see_status: true }],
      ['user', { username: 'audited', role_id: 3, quota_id: 1 }, { password, priority: 3 }],
    ] as const;
    for (const [kind, body, changes] of objects) {
      const made = await does(`post /${kind}`, admin, [`create-${kind}`], { path: native(kind), body });
      const id = idIn(made, `${kind}_id`);
      expect(proved[`post /${kind}`]).toMatchObject({
        user: 'admin',
        target: `${kind}/${id}`,
        target_name: Object.values(body)[0],
      });
      const path = native(`${kind}/${id}`);
      await does(`post /${kind}/{id}`, admin, [`update-${kind}`, `${kind}/${id}`], { path, body: changes });
      expect(proved[`post /${kind}/{id}`]?.fields.toSorted()).toEqual(Object.keys(changes).sort());
      if (kind === 'user') {
        const own = { password: next, current_password: password };
        const changed = await as('audited', password).post(path, own);
        expect([changed.status, (await entryOf(changed))?.user]).toEqual([200, 'audited']);
      }
      await does(`delete /${kind}/{id}`, admin, [`delete-${kind}`, `${kind}/${id}`], { path });
    }
    const submitted = await does('post /execution', admin, ['submit-execution'], {
      ...{ path: native('execution'), body: { name: 'audited', application: application(service()) } },
    });
    const id = idIn(submitted, 'execution_id');
    const target = `execution/${id}`;
    expect(proved['post /execution']?.target).toBe(target);
    const limit = { path: native(target), body: { time_limit: 60 } };
    await does('post /execution/{id}', admin, ['limit-execution', target], limit);
    await does('delete /execution/{id}', admin, ['terminate-execution', target], { path: limit.path });
    const deletion = native(`execution/delete/${id}`);
    await does('delete /execution/delete/{id}', admin, ['delete-execution', target], { path: deletion });
    const join = { path: native('host/token'), body: {} };
    const joinToken = (await does('post /host/token', admin, ['create-join-token', null], join)).json().token;
    const registered = await registeredHost(host(), 'audited', String(joinToken));
    const ofHost = `host/${registered.id}`;
    expect((await list('action=register-host'))[0]).toMatchObject({
      ...{ credential: 'join-token', user: null, target: ofHost, target_name: 'audited', outcome: 'done' },
    });
    await does('post /host/{id}', admin, ['update-host', ofHost], {
      ...{ path: native(ofHost), body: { schedulable: false } },
    });
    // There is no signed agent to update to.
    const update = await admin.post(native(`${ofHost}/update`), {});
    proved['post /host/{id}/update'] = await entryOf(update);
    expect(proved['post /host/{id}/update']).toMatchObject({ action: 'update-agent', outcome: 'conflict' });
    await does('delete /host/{id}', admin, ['remove-host', ofHost], { path: native(ofHost) });
    const token = await does('post /token', admin, ['create-personal-token'], {
      ...{ path: native('token'), body: { name: 'audited', scopes: ['admin'] } },
    });
    const tokenId = idIn(token, 'token_id');
    const ofToken = { target: `personal-token/${tokenId}`, target_name: 'audited' };
    expect(proved['post /token']).toMatchObject(ofToken);
    const bearing = (text: unknown) => anonymous.with({ authorization: `Bearer ${text}` });
    await does('post /role', bearing(token.json().token), ['create-role'], {
      ...{ path: native('role'), body: { name: 'by token' } },
    });
    expect(proved['post /role']).toMatchObject({ credential: 'personal-token', token_id: tokenId });
    const revoked = { path: native(`token/${tokenId}`) };
    await does('delete /token/{id}', admin, ['revoke-personal-token', ofToken.target], revoked);
    const granted = await does('post /oauth/token', admin, ['grant-token', null], {
      ...{ path: 'oauth/token', body: { grant_type: 'password' } },
    });
    const { access_token } = granted.json();
    await does('delete /oauth/revoke/{token}', bearing(access_token), ['revoke-token', null], {
      path: `oauth/revoke/${access_token}`,
    });
    expect(proved['delete /oauth/revoke/{token}']?.credential).toBe('token');
    for (const [kind, value] of [
      ['secret', next],
      ['file', Buffer.from(next).toString('base64')],
    ] as const) {
      const body = { name: 'audited', value };
      const made = await does(`post /${kind}`, admin, [`set-${kind}`, null], { path: native(kind), body });
      expect(proved[`post /${kind}`]?.target_name).toBe('audited');
      if (kind === 'secret') {
        await sealWithOtherKey(host(), 'audited');
        const path = native('secret/encrypt');
        await does('post /secret/encrypt', admin, ['encrypt-secrets', null], { path });
      }
      const ofKind = `${kind}/${idIn(made, `${kind}_id`)}`;
      await does(`delete /${kind}/{id}`, admin, [`remove-${kind}`, ofKind], { path: native(ofKind) });
    }
    const ofRegistry = { registry: 'registry.example.org:5000', username: 'ci', password: next };
    const set = await does('post /registry', admin, ['set-registry'], {
      ...{ path: native('registry'), body: ofRegistry },
    });
    expect(proved['post /registry']?.target_name).toBe('registry.example.org:5000');
    const one = `registry/${idIn(set, 'registry_id')}`;
    await does('delete /registry/{id}', admin, ['remove-registry', one], { path: native(one) });
    expect(Object.keys(proved)).toEqual(expect.arrayContaining(changingOperations()));

    const rows = JSON.stringify(await queryRows(host(), 'SELECT * FROM audit'));
    secrets.push(String(joinToken), String(token.json().token), String(access_token));
    secrets.push(String(granted.json().refresh_token));
    for (const secret of secrets) expect(rows).not.toContain(JSON.stringify(secret).slice(1, -1));
  });

  test('H462: refusals of an account are recorded, those of one kind within a minute as one row', async () => {
    await addUser(host(), 'refused', PASSWORD, 'user');
    const user = as('refused');
    const replies = await Promise.all([
      user.delete(`${NATIVE}/quota/1`),
      user.delete(`${NATIVE}/quota/2`),
      user.delete(`${NATIVE}/quota/3`),
      user.delete(`${NATIVE}/execution/987654`),
      user.post(`${NATIVE}/user/1`, { password: 'another password' }),
    ]);
    expect(replies.map(({ status }) => status)).toEqual([403, 403, 403, 404, 403]);
    const rows = await list('user=refused');
    const refused = rows.filter(({ outcome }) => outcome !== 'done');
    const counted = refused.filter(({ action }) => action === 'delete-quota');
    expect(counted.reduce((sum, { count }) => sum + count, 0)).toBe(3);
    // A minute may end between the requests.
    expect(counted.length).toBeLessThan(3);
    expect(refused).toEqual(
      expect.arrayContaining([
        expect.objectContaining({
          action: 'terminate-execution',
          target: 'execution/987654',
          outcome: 'not-found',
        }),
        expect.objectContaining({
          action: 'update-user',
          target: 'user/1',
          outcome: 'forbidden',
          fields: [],
        }),
      ]),
    );
    expect((await anonymous.delete(`${NATIVE}/quota/1`)).status).toBe(401);
    const invalid = await admin.post(`${NATIVE}/quota`, { name: 7 });
    expect([invalid.status, await entryOf(invalid)]).toEqual([400, undefined]);
  });

  test('H461, H463, H465: forms, logins and logouts are recorded, and an id that a client sends is not used', async () => {
    const name = 'visitor';
    await addUser(host(), name, PASSWORD, 'admin');
    const visitor = await WebClient.logIn(host, name, PASSWORD);
    const [login] = await list(`user=${name}`);
    expect(login).toMatchObject({ action: 'log-in', credential: 'password', outcome: 'done' });
    expect(login?.request_id).toMatch(/^[0-9a-f-]{36}$/);
    await visitor.act('/admin/roles', { name: 'by form' });
    await visitor.act('/logout');
    expect((await list(`user=${name}`)).map(({ action, credential }) => [action, credential])).toEqual([
      ['log-out', 'session'],
      ['create-role', 'session'],
      ['log-in', 'password'],
    ]);
    // Basic credentials open a session once, and not for every request.
    await addUser(host(), 'program', PASSWORD, 'admin');
    const program = as('program').with({ 'x-request-id': 'chosen' });
    const first = await program.get(`${NATIVE}/execution`);
    const second = await program.get(`${NATIVE}/execution`);
    expect([first, second].map(({ status }) => status)).toEqual([200, 200]);
    expect(await entryOf(first)).toMatchObject({ action: 'log-in', user: 'program', address });
    expect(second.headers['x-request-id']).toBeUndefined();
    expect(await list('user=program')).toHaveLength(1);
    const changed = await program.post(`${NATIVE}/role`, { name: 'by basic' });
    expect(changed.headers['x-request-id']).not.toBe('chosen');
    expect(await entryOf(changed)).toMatchObject({ action: 'create-role', credential: 'password' });
  });

  test('H464: failed logins are counted by network, without the name that was typed', async () => {
    const typed = 'hunter2 typed as a name';
    const network = kind === 'node' ? '127.0.0.0/24' : '192.0.2.0/24';
    for (const [username, password] of [
      [typed, 'x'],
      ['admin', 'not it'],
    ] as const)
      expect((await as(username, password).get('login')).status).toBe(401);
    const log = await list('');
    // A request states its time before its entry has its place.
    const later = log.map(({ time }, at) => time - (log[at - 1]?.time ?? time));
    expect(Math.max(...later)).toBeLessThan(1);
    const failed = (await list('action=log-in')).filter(({ outcome }) => outcome === 'unauthenticated');
    expect(failed.reduce((sum, { count }) => sum + count, 0)).toBe(2);
    for (const { id: _, time: __, count: ___, ...entry } of failed)
      expect(entry).toEqual({
        ...{ user: null, user_id: null, credential: 'password', token_id: null, address: network },
        ...{ request_id: null, action: 'log-in', target: null, target_name: null, fields: [] },
        outcome: 'unauthenticated',
      });
    expect(JSON.stringify(await queryRows(host(), 'SELECT * FROM audit'))).not.toContain('hunter2');
  });

  test('H460: administrators read the log by filters and pages, and nobody else does', async () => {
    const name = 'paged';
    await addUser(host(), name, PASSWORD, 'admin');
    for (const role of ['one', 'two', 'three'])
      expect((await as(name).post(`${NATIVE}/role`, { name: `paged ${role}` })).status).toBe(200);
    const names = async (query: string) => (await list(query)).map(({ target_name }) => target_name);
    const all = await list(`user=${name}&action=create-role`);
    const [three, two, one] = all;
    expect(all.map(({ target_name }) => target_name)).toEqual(['paged three', 'paged two', 'paged one']);
    expect(await names(`user=${name}&limit=2&before=${three?.id}`)).toEqual(['paged two', 'paged one']);
    expect(await names(`target=${two?.target}`)).toEqual(['paged two']);
    expect((await names('target=role')).slice(0, 3)).toEqual(['paged three', 'paged two', 'paged one']);
    expect(await names(`user=${name}&since=${two?.time}&action=create-role`)).toEqual([
      'paged three',
      'paged two',
    ]);
    expect(await names(`user=${name}&until=${two?.time}&action=create-role`)).toEqual(['paged one']);
    expect(one?.user_id).toEqual(expect.any(Number));
    const invalid = 'limit=0 limit=1001 target=planet action=dance since=yesterday colour=red';
    for (const query of invalid.split(' '))
      expect((await admin.get(`${NATIVE}/audit?${query}`)).status, query).toBe(400);
    await addUser(host(), 'curious', PASSWORD, 'user');
    expect((await as('curious').get(`${NATIVE}/audit`)).status).toBe(403);
    expect((await anonymous.get(`${NATIVE}/audit`)).status).toBe(401);
    expect((await admin.get('audit')).status).toBe(404);
    const read = await admin.post(`${NATIVE}/token`, { name: 'audit', scopes: ['read', 'operate'] });
    const bearing = anonymous.with({ authorization: `Bearer ${read.json().token}` });
    expect((await bearing.get(`${NATIVE}/audit`)).status).toBe(403);
  });

  test('H467: the page shows administrators the log, with filters and older entries', async () => {
    const name = 'reader';
    await addUser(host(), name, PASSWORD, 'admin');
    const reader = await WebClient.logIn(host, name, PASSWORD);
    const doer = { userId: 1, username: name, credential: 'session', tokenId: null } as const;
    const deed = { action: 'update-role', targetId: 3, targetName: 'user' } as const;
    const entry = { ...doer, ...deed, address: null, requestId: null };
    const db = await host().openDb();
    await db.batch([insertAudits(Array.from({ length: 101 }, () => ({ entry, timeMs: Date.now() })))]);
    await db.close();
    const textOf = async (query: string) => (await reader.get(`/admin/audit?${query}`)).text;
    const rowsOf = (text: string) => text.split('<tr><td>').length - 1;
    const all = await textOf(`user=${name}&action=update-role&within=1&before=&target=role%2F3`);
    expect(rowsOf(all)).toBe(100);
    expect(all).toContain('<a href="/admin/roles/3">role/3</a> user');
    const [, older = ''] = /href="\/admin\/audit\?([^"]*)">Older entries/.exec(all) ?? [];
    const rest = await textOf(older.replaceAll('&amp;', '&'));
    expect([rowsOf(rest), rest.includes('Older entries')]).toEqual([1, false]);
    expect(await textOf('user=nobody')).toContain('No matching entries');
    // What the form cannot send is ignored.
    expect(rowsOf(await textOf(`user=${name}&action=dance&target=%3Cb%3E&within=x&before=x`))).toBe(100);
    await addUser(host(), 'visitor2', PASSWORD, 'user');
    const visitor = await WebClient.logIn(host, 'visitor2', PASSWORD);
    expect((await visitor.get('/admin/audit')).status).toBe(403);
  });
});
