import { expect, test } from 'vitest';
import { ScriptedAgent, seen } from '../../support/agents/scripted-agent.ts';
import { AccountClient, ROLE } from '../../support/clients/account-client.ts';
import { ApiClient } from '../../support/clients/api-client.ts';
import { basic } from '../../support/clients/http-client.ts';
import { sessionOf } from '../../support/clients/web-client.ts';
import { application } from '../../support/fixtures/applications.ts';
import { hosts, onHosts, queryRows, writeRow } from '../../support/hosts/hosts.ts';
import { eventually } from '../../support/tools/eventually.ts';

/** Effects on others when users, roles and quotas are changed or deleted. */
onHosts(hosts, (host) => {
  const accounts = new AccountClient(host);
  const { admin } = accounts;
  const loginOf = async (headers: Record<string, string>) =>
    (await accounts.anonymous.with(headers).get('login')).status;
  const loginAs = (username: string) => loginOf(basic(username, 'secret words'));
  const cookieOf = async (username: string) => sessionOf(await accounts.as(username).get('login'));
  const rowsOf = (id: number) => queryRows(host(), 'SELECT deleted FROM users WHERE id = ?', [id]);
  const QUOTA = { concurrent_executions: 1, memory: 2 ** 40, cores: 3 };

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

  test('H98: a deleted user is 404 and logged out, and its name is free', async () => {
    const id = await accounts.addUser('leaver');
    const cookie = await cookieOf('leaver');
    await accounts.remove('user', id);
    expect(await loginAs('leaver')).toBe(401);
    expect(await loginOf({ cookie })).toBe(401);
    expect(await accounts.statusOf('GET', `user/${id}`)).toBe(404);
    expect(await accounts.statusOf('DELETE', `user/${id}`)).toBe(404);
    expect(Object.keys((await admin.get('user')).json())).not.toContain(`${id}`);
    expect(await accounts.addUser('leaver')).toBeGreaterThan(id);
    expect(await loginOf({ cookie })).toBe(401);
  });

  test('H98: queued and ended executions of a deleted user are deleted, and deleting it again continues an interrupted deletion', async () => {
    for (const username of ['queuer', 'halfway']) {
      const id = await accounts.addUser(username);
      const api = new ApiClient(host, username, 'secret words');
      const executions = [await api.submit(), await api.submit()];
      await api.terminate(executions[0] ?? 0);
      if (username === 'halfway') await writeRow(host(), 'UPDATE users SET deleted = 1 WHERE id = ?', [id]);
      await accounts.remove('user', id);
      for (const execution of executions)
        expect(await accounts.statusOf('GET', `execution/${execution}`)).toBe(404);
      expect(await rowsOf(id)).toEqual([]);
      expect(await accounts.statusOf('DELETE', `user/${id}`)).toBe(404);
    }
  });

  test('H98: a submission by a user who is deleted meanwhile is refused', async () => {
    const id = await accounts.addUser('slow');
    const body = JSON.stringify({ name: 'late', application: application() });
    const rest = await accounts.as('slow').hold('POST', 'execution', body);
    // The session shows that the server has verified the request's credentials.
    const session = 'SELECT user_id FROM sessions WHERE user_id = ?';
    await eventually(async () => (await queryRows(host(), session, [id])).length > 0);
    await accounts.remove('user', id);
    expect((await rest()).status).toBe(401);
    expect(await queryRows(host(), "SELECT id FROM executions WHERE name = 'late'")).toEqual([]);
  });

  test('H98: containers of a deleted user are stopped; its name is free at once, and its row is removed with its last container', async () => {
    await using agent = await ScriptedAgent.join(host());
    const id = await accounts.addUser('runner');
    const execution = await new ApiClient(host, 'runner', 'secret words').submit();
    const one = await agent.runs(execution);
    await accounts.remove('user', id);
    expect(await accounts.statusOf('GET', `execution/${execution}`)).toBe(404);
    expect(await loginAs('runner')).toBe(401);
    expect(await loginAs(`deleted:${id}`)).toBe(401);
    await agent.released(execution);
    await accounts.addUser('runner');
    expect(await rowsOf(id)).toEqual([{ deleted: 1 }]);
    await agent.report(seen.gone(one));
    await agent.reportForgotten(one.service);
    expect(await rowsOf(id)).toEqual([]);
  });

  test('H97: deleting a role or quota of a deleted user is refused with the host of its containers, and succeeds when they are gone', async () => {
    await using agent = await ScriptedAgent.join(host(), { facts: { name: 'last-place' } });
    const role_id = await accounts.create('role', { name: 'left', can_access_api: true });
    const quota_id = await accounts.create('quota', { ...QUOTA, name: 'left' });
    const id = await accounts.addUser('left', { role_id, quota_id });
    const used = await admin.delete(`role/${role_id}`);
    expect([used.status, used.json().message]).toEqual([
      409,
      'The role is still in use by 1 user: give that user another role first.',
    ]);
    const execution = await new ApiClient(host, 'left', 'secret words').submit();
    const one = await agent.runs(execution);
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
  });

  test.each([
    { password: 'a new one, long' },
    { role_id: ROLE.superuser },
    { enabled: false },
    { auth_source: 'ldap' },
  ])('H99: a change of %o ends the sessions of a user at once', async (fields) => {
    const name = `session-${Object.keys(fields)[0]}`;
    const id = await accounts.addUser(name);
    const cookie = await cookieOf(name);
    await accounts.update('user', id, {
      email: 'same@example.org',
      priority: 3,
      enabled: true,
      role_id: ROLE.user,
    });
    expect(await loginOf({ cookie })).toBe(200);
    await accounts.update('user', id, fields);
    expect(await loginOf({ cookie })).toBe(401);
    const open = 'role_id' in fields ? 200 : 401;
    expect(await loginAs(name)).toBe(open);
  });
});
