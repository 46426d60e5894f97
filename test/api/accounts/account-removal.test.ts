import { once } from 'node:events';
import { request } from 'node:http';
import { describe, expect, test } from 'vitest';
import { ScriptedAgent, seen } from '../../support/agents/scripted-agent.ts';
import { AccountClient, type Kind, plain, ROLE } from '../../support/clients/account-client.ts';
import { ApiClient } from '../../support/clients/api-client.ts';
import { basic } from '../../support/clients/http-client.ts';
import { application } from '../../support/fixtures/applications.ts';
import { hosts, onHosts } from '../../support/hosts/hosts.ts';
import { eventually } from '../../support/tools/eventually.ts';

/** Effects on others when users, roles and quotas are changed or deleted. */
onHosts(hosts, (host) => {
  const accounts = new AccountClient(host);
  const { admin } = accounts;
  const QUOTA = { concurrent_executions: 1, memory: 2 ** 40, cores: 3 };

  describe('protected accounts', () => {
    test('H97: the role admin cannot be changed or deleted', async () => {
      expect(await accounts.statusOf('POST', 'role/1', { can_see_status: false })).toBe(409);
      expect(await accounts.statusOf('POST', 'role/1', { name: 'root' })).toBe(409);
      expect(await accounts.statusOf('DELETE', 'role/1')).toBe(409);
    });

    test('H97: the last enabled administrator cannot be deleted, disabled, or given another role or source', async () => {
      // Neither of these administrators can log in.
      const disabled = await accounts.addUser('disabled-admin', { role_id: ROLE.admin, enabled: false });
      const withoutPassword = await accounts.create('user', {
        username: 'no-password',
        ...plain,
        role_id: ROLE.admin,
      });
      for (const fields of [{ enabled: false }, { role_id: 2 }, { auth_source: 'ldap' }]) {
        expect(await accounts.statusOf('POST', 'user/1', fields), JSON.stringify(fields)).toBe(409);
      }
      expect(await accounts.statusOf('DELETE', 'user/1')).toBe(409);
      await accounts.update('user', 1, { priority: 0, enabled: true, role_id: ROLE.admin });
      await accounts.remove('user', disabled);
      await accounts.remove('user', withoutPassword);
    });

    test('H97: one of two administrators can be disabled', async () => {
      const second = await accounts.addUser('second', { role_id: ROLE.admin });
      const two = accounts.as('second');
      expect(await accounts.statusOf('POST', 'user/1', { enabled: false }, two)).toBe(200);
      expect(await accounts.statusOf('DELETE', `user/${second}`, undefined, two)).toBe(409);
      expect(await accounts.statusOf('POST', 'user/1', { enabled: true }, two)).toBe(200);
      await accounts.remove('user', second);
    });

    test('H97: if two administrators disable each other at once, one stays enabled', async () => {
      const second = await accounts.addUser('rival', { role_id: ROLE.admin });
      await accounts.as('rival').get('login');
      const outcomes = await Promise.all([
        accounts.statusOf('POST', `user/${second}`, { enabled: false }),
        accounts.statusOf('POST', 'user/1', { enabled: false }, accounts.as('rival')),
      ]);
      expect(outcomes.toSorted()[0]).toBe(200);
      expect([401, 409]).toContain(outcomes.toSorted()[1]);
      const remaining = outcomes[0] === 200 ? admin : accounts.as('rival');
      expect(await accounts.statusOf('POST', 'user/1', { enabled: true }, remaining)).toBe(200);
      await accounts.remove('user', second);
    });

    test.each<Kind>(['role', 'quota'])('H97: a %s in use cannot be deleted', async (kind) => {
      const id = await accounts.create(kind, kind === 'role' ? { name: 'used' } : { name: 'used', ...QUOTA });
      const user = await accounts.create('user', { username: `uses-${kind}`, ...plain, [`${kind}_id`]: id });
      expect(await accounts.statusOf('DELETE', `${kind}/${id}`)).toBe(409);
      await accounts.remove('user', user);
      await accounts.remove(kind, id);
      expect(await accounts.statusOf('GET', `${kind}/${id}`)).toBe(404);
    });
  });

  describe('deleted users', () => {
    test('H98: a deleted user is 404 and logged out, and its name is free', async () => {
      const id = await accounts.addUser('leaver');
      const cookie = (await accounts.as('leaver').get('login')).headers['set-cookie']?.[0] ?? '';
      await accounts.remove('user', id);
      expect(await accounts.statusOf('GET', 'login', undefined, accounts.as('leaver'))).toBe(401);
      expect(await accounts.statusOf('GET', 'login', undefined, accounts.anonymous.with({ cookie }))).toBe(
        401,
      );
      expect(await accounts.statusOf('GET', `user/${id}`)).toBe(404);
      expect(await accounts.statusOf('DELETE', `user/${id}`)).toBe(404);
      expect(Object.keys((await admin.get('user')).json())).not.toContain(`${id}`);
      expect(await accounts.addUser('leaver')).toBeGreaterThan(id);
      expect(await accounts.statusOf('GET', 'login', undefined, accounts.anonymous.with({ cookie }))).toBe(
        401,
      );
    });

    test('H98: queued and ended executions of a deleted user are deleted', async () => {
      const id = await accounts.addUser('queuer');
      const api = new ApiClient(host, 'queuer', 'secret words');
      const executions = [await api.submit(), await api.submit()];
      await api.terminate(executions[0] ?? 0);
      await accounts.remove('user', id);
      for (const execution of executions)
        expect(await accounts.statusOf('GET', `execution/${execution}`)).toBe(404);
      const db = await host().openDb();
      const rows = await db.query('SELECT id FROM users WHERE id = ?', [id]);
      await db.close();
      expect(rows).toEqual([]);
    });

    test('H98: deleting a user again continues an interrupted deletion', async () => {
      const id = await accounts.addUser('halfway');
      const execution = await new ApiClient(host, 'halfway', 'secret words').submit();
      const db = await host().openDb();
      await db.batch([{ sql: 'UPDATE users SET deleted = 1 WHERE id = ?', args: [id] }]);
      await accounts.remove('user', id);
      expect(await accounts.statusOf('GET', `execution/${execution}`)).toBe(404);
      expect(await db.query('SELECT id FROM users WHERE id = ?', [id])).toEqual([]);
      await db.close();
      expect(await accounts.statusOf('DELETE', `user/${id}`)).toBe(404);
    });

    test('H98: a submission by a user who is deleted meanwhile is refused', async () => {
      const id = await accounts.addUser('slow');
      const { authorization = '' } = basic('slow', 'secret words');
      const url = new URL('/api/0.7/execution', host().url());
      const outgoing = request(url, { method: 'POST', agent: false, headers: { authorization } });
      const answered = once(outgoing, 'response');
      outgoing.write(' ');
      const db = await host().openDb();
      // The session shows that the server has verified the request's credentials.
      await eventually(async () => {
        return (await db.query('SELECT user_id FROM sessions WHERE user_id = ?', [id])).length > 0;
      });
      await accounts.remove('user', id);
      outgoing.end(JSON.stringify({ name: 'late', application: application() }));
      const [response] = await answered;
      expect(response.statusCode).toBe(401);
      expect(await db.query("SELECT id FROM executions WHERE name = 'late'")).toEqual([]);
      await db.close();
    });

    test('H98: containers of a deleted user are stopped; its name is free at once, and its row is removed with its last container', async () => {
      const agent = await ScriptedAgent.join(host());
      const id = await accounts.addUser('runner');
      const execution = await new ApiClient(host, 'runner', 'secret words').submit();
      const [one] = await agent.assigned(execution);
      if (!one) throw new Error('no assignment');
      await agent.report(seen.running(one));
      await accounts.remove('user', id);
      expect(await accounts.statusOf('GET', `execution/${execution}`)).toBe(404);
      expect(await accounts.statusOf('GET', 'login', undefined, accounts.as('runner'))).toBe(401);
      expect(await accounts.statusOf('GET', 'login', undefined, accounts.as(`deleted:${id}`))).toBe(401);
      await agent.released(execution);
      await accounts.addUser('runner');
      const db = await host().openDb();
      const rows = () => db.query('SELECT deleted FROM users WHERE id = ?', [id]);
      expect(await rows()).toEqual([{ deleted: 1 }]);
      await agent.report(seen.gone(one));
      await agent.reportForgotten(one.service);
      expect(await rows()).toEqual([]);
      await db.close();
      await agent.close();
    });
  });

  test('H97: deleting a role or quota of a deleted user is refused with the host of its containers, and succeeds when they are gone', async () => {
    const agent = await ScriptedAgent.join(host(), { facts: { name: 'last-place' } });
    const role_id = await accounts.create('role', { name: 'left', can_access_api: true });
    const quota_id = await accounts.create('quota', { ...QUOTA, name: 'left' });
    const id = await accounts.addUser('left', { role_id, quota_id });
    const used = await admin.delete(`role/${role_id}`);
    expect([used.status, used.json().message]).toEqual([
      409,
      'The role is still in use by 1 user: give that user another role first.',
    ]);
    const execution = await new ApiClient(host, 'left', 'secret words').submit();
    const [one] = await agent.assigned(execution);
    if (!one) throw new Error('no assignment');
    await agent.report(seen.running(one));
    await accounts.remove('user', id);
    for (const [kind, path] of [
      ['role', `role/${role_id}`],
      ['quota', `quota/${quota_id}`],
    ] as const) {
      const refused = await admin.delete(path);
      expect([refused.status, refused.json().message]).toEqual([
        409,
        `The ${kind} is still in use by 1 deleted user until all their containers and logs on host last-place are gone; try again then.`,
      ]);
    }
    await agent.released(execution);
    await agent.report(seen.gone(one));
    await agent.reportForgotten(one.service);
    await accounts.remove('role', role_id);
    await accounts.remove('quota', quota_id);
    await agent.close();
  });

  describe('sessions of a changed user', () => {
    test.each([
      { password: 'a new one, long' },
      { role_id: ROLE.superuser },
      { enabled: false },
      { auth_source: 'ldap' },
    ])('H99: a change of %o ends the sessions of a user at once', async (fields) => {
      const id = await accounts.addUser(`session-${Object.keys(fields)[0]}`);
      const name = `session-${Object.keys(fields)[0]}`;
      const cookie = (await accounts.as(name).get('login')).headers['set-cookie']?.[0] ?? '';
      await accounts.update('user', id, {
        email: 'same@example.org',
        priority: 3,
        enabled: true,
        role_id: ROLE.user,
      });
      expect(await accounts.statusOf('GET', 'login', undefined, accounts.anonymous.with({ cookie }))).toBe(
        200,
      );
      await accounts.update('user', id, fields);
      expect(await accounts.statusOf('GET', 'login', undefined, accounts.anonymous.with({ cookie }))).toBe(
        401,
      );
      const open = 'role_id' in fields ? 200 : 401;
      expect(await accounts.statusOf('GET', 'login', undefined, accounts.as(name))).toBe(open);
    });
  });
});
