import { Agent } from 'node:http';
import { expect, test } from 'vitest';
import { ScriptedAgent, seen } from '../../support/agents/scripted-agent.ts';
import { AccountClient, ROLE } from '../../support/clients/account-client.ts';
import { ApiClient } from '../../support/clients/api-client.ts';
import { EventClient } from '../../support/clients/event-client.ts';
import { basic, HttpClient } from '../../support/clients/http-client.ts';
import { sessionOf } from '../../support/clients/web-client.ts';
import { eitherGroup, type Host, onHosts, queuedIn, startHost } from '../../support/hosts/hosts.ts';
import { AT_ONCE_MS, eventually } from '../../support/tools/eventually.ts';

const { watch, open: reopen } = EventClient;

onHosts(eitherGroup, (host, { variant }) => {
  const api = new ApiClient(host);
  const queued = queuedIn(variant);
  const owner = variant === 'A' ? 'admin' : 1;

  test('H290: the stream reports the life of an execution and of its services, in the words of the group', async () => {
    const events = await watch(api.http);
    expect(events.response.headers).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store, no-transform',
    });
    const agent = await ScriptedAgent.join(host(), { facts: { name: 'lives' } });
    expect((await events.next('host', { name: 'lives', state: 'ready' })).data).toEqual({
      id: expect.any(Number),
      name: 'lives',
      state: 'ready',
    });
    const id = await api.submit(undefined, 'watched');
    expect((await events.next('execution', { id })).data).toEqual({
      id,
      name: 'watched',
      user_id: owner,
      status: expect.stringMatching(`${queued}|starting`),
    });
    const one = await agent.runs(id);
    expect((await events.next('service', { id: one.service, status: 'active' })).data).toEqual({
      id: one.service,
      execution_id: id,
      name: 'main0',
      status: 'active',
      backend_status: 'started',
    });
    await agent.report(seen.exited(one, 0));
    await agent.report(seen.gone(one));
    await eventually(async () => events.statusesOf(id).includes('terminated'));
    const statuses = events.statusesOf(id).filter((status) => status !== queued);
    expect([...new Set(statuses)]).toEqual(['starting', 'running', 'cleaning up', 'terminated']);
    await api.remove(id);
    expect((await events.next('execution', { id, status: 'deleted' })).data.name).toBe('watched');
    await agent.close();
    await events.next('host', { name: 'lives', state: 'disconnected' });
  });

  test('H290: a subscriber that reads the API after an event sees at least its change, and a refused request causes no event', async () => {
    const events = await watch(api.http);
    for (let n = 0; n < 5; n++) {
      const submitted = api.http.post('execution', { name: '', application: {} });
      const id = await api.submit();
      expect((await submitted).status).toBe(400);
      await events.next('execution', { id });
      expect(await api.execution(id)).toMatchObject({ id });
      const ending = api.terminate(id);
      await events.next('execution', { id, status: 'terminated' });
      expect((await api.execution(id)).status).toBe('terminated');
      await ending;
    }
    expect(new Set(events.received.map(({ event }) => event))).toEqual(new Set(['hello', 'execution']));
  });

  test('H292: a returning subscriber gets the events that it missed, each once and in order', async () => {
    const events = await watch(api.http);
    const [before, during] = [await api.submit(), await api.submit()];
    await events.next('execution', { id: during });
    events.close();
    await api.terminate(before);
    const after = await api.submit();
    const back = await reopen(api.http, events.lastEventId);
    await api.terminate(after);
    await back.next('execution', { id: after, status: 'terminated' });
    expect(back.received.map(({ event }) => event)).not.toContain('hello');
    expect(back.statusesOf(before).at(-1)).toBe('terminated');
    expect(back.statusesOf(during)).toEqual([]);
    expect(back.statusesOf(after)).toEqual([queued, 'terminated']);
    await api.terminate(during);
  });

  test('H293: subscribers get different delays for their reconnection', async () => {
    const all = await Promise.all(Array.from({ length: 5 }, () => watch(api.http)));
    const delays = all.map(({ retryMs }) => retryMs ?? 0);
    expect(Math.min(...delays)).toBeGreaterThanOrEqual(500);
    expect(Math.max(...delays)).toBeLessThan(2_500);
    expect(new Set(delays).size).toBeGreaterThan(1);
  });

  test('H297: the query may state the last event id, and the header Last-Event-ID takes precedence', async () => {
    const events = await watch(api.http);
    const [first, second] = [await api.submit(), await api.submit()];
    const { id: between } = await events.next('execution', { id: first });
    const { id: after } = await events.next('execution', { id: second });
    const fromQuery = new EventClient(await api.http.open('GET', `events?last_event_id=${between}`));
    const fromHeader = new EventClient(
      await api.http.with({ 'last-event-id': after }).open('GET', `events?last_event_id=${between}`),
    );
    await api.terminate(second);
    for (const one of [fromQuery, fromHeader])
      await one.next('execution', { id: second, status: 'terminated' });
    expect(fromQuery.statusesOf(second)).toEqual([queued, 'terminated']);
    expect(fromHeader.statusesOf(second)).toEqual(['terminated']);
    for (const query of ['last_event=1', `last_event_id=${after}&last_event_id=${after}`])
      expect((await api.http.get(`events?${query}`)).status).toBe(400);
    await api.terminate(first);
  });

  test('H296: HEAD returns the head of the stream and opens none', async () => {
    const reply = await api.http.send('HEAD', 'events');
    expect(reply.status).toBe(200);
    expect(reply.text).toBe('');
    expect(reply.headers['content-type']).toBe('text/event-stream; charset=utf-8');
  });

  if (variant === 'B') testChanges(host, api);
  if (variant === 'A') testTokens(host, api);
});

/** For the group with tokens. */
function testTokens(host: () => Host, api: ApiClient): void {
  test('H294: the revocation of a token ends the streams of its user, and subscribers with other credentials may reconnect', async () => {
    const anyone = new HttpClient(() => host().url());
    const grant = async () => {
      const reply = await api.http.post('oauth/token', { grant_type: 'password' });
      const { access_token } = reply.json<{ access_token: string }>();
      return { access_token, http: anyone.with({ authorization: `Bearer ${access_token}` }) };
    };
    const [revoked, other] = [await grant(), await grant()];
    const [ended, back] = [await watch(revoked.http), await watch(other.http)];
    expect((await other.http.delete(`oauth/revoke/${revoked.access_token}`)).status).toBe(200);
    await eventually(async () => ended.ended && back.ended);
    expect((await revoked.http.get('events')).status).toBe(401);
    await reopen(other.http, back.lastEventId);
  });
}

/** For the group whose API changes users and roles. */
function testChanges(host: () => Host, api: ApiClient): void {
  const accounts = new AccountClient(host);

  test('H292: after a restart of the control plane a returning subscriber gets a reset', async () => {
    const events = await watch(api.http);
    await host().crash();
    await eventually(async () => events.ended !== undefined);
    await host().start();
    await eventually(async () => (await api.http.get('/readyz')).status === 200);
    const back = await reopen(api.http, events.lastEventId);
    const { id } = await back.next('reset');
    expect(Number.parseInt(id, 10)).toBeGreaterThan(Number.parseInt(events.lastEventId, 10));
  });

  test.each(['password', 'role', 'disabled', 'deleted'] as const)(
    'H294: a change of its user (%s) ends a stream at once, and the old credentials open no other',
    async (change) => {
      const name = `changes-${change}`;
      const id = await accounts.addUser(name, { role_id: ROLE.user }, 'secret words');
      const login = await api.http.with(basic(name, 'secret words')).get('login');
      const cookie = sessionOf(login);
      const user = accounts.anonymous.with({ cookie });
      const [events, others] = [await watch(user), await watch(api.http)];
      const changes = {
        password: { password: 'a new one, long' },
        role: { role_id: ROLE.superuser },
        disabled: { enabled: false },
      };
      if (change === 'deleted') await api.http.delete(`user/${id}`);
      else await api.http.post(`user/${id}`, changes[change]);
      await eventually(async () => events.ended, AT_ONCE_MS);
      expect(events.ended).toBe('ended');
      expect((await user.get('events')).status).toBe(401);
      expect(others.ended).toBeUndefined();
    },
  );

  test('H294: a logout ends the streams of its user, and subscribers with other sessions may reconnect', async () => {
    await accounts.addUser('leaver', {}, 'secret words');
    const logIn = async () => {
      const reply = await accounts.as('leaver').get('login');
      return accounts.anonymous.with({ cookie: reply.headers['set-cookie']?.[0]?.split(';')[0] ?? '' });
    };
    const form = 'username=leaver&password=secret+words';
    const login = await accounts.anonymous.send('POST', '/login', form);
    const cookies = login.headers['set-cookie']?.map((cookie) => cookie.split(';')[0]) ?? [];
    const leaving = accounts.anonymous.with({ cookie: cookies.join('; ') });
    const staying = await logIn();
    const [left, stayed, others] = [await watch(leaving), await watch(staying), await watch(api.http)];
    expect((await leaving.send('POST', '/logout', '')).status).toBe(303);
    await eventually(async () => left.ended && stayed.ended, AT_ONCE_MS);
    expect((await leaving.get('events')).status).toBe(401);
    await reopen(staying, stayed.lastEventId);
    expect(others.ended).toBeUndefined();
  });

  test('H295: streams that clients have left no longer count', async () => {
    await accounts.addUser('crowd', {}, 'secret words');
    const crowd = accounts.as('crowd');
    const all = await Promise.all(Array.from({ length: 50 }, () => watch(crowd)));
    const refused = await crowd.get('events');
    expect([refused.status, refused.headers['retry-after']]).toEqual([429, '15']);
    for (const events of all.slice(0, 25)) events.close();
    await eventually(async () => {
      const response = await crowd.open('GET', 'events');
      response.destroy();
      return response.statusCode === 200;
    });
  });

  test('H294: a change of a role ends all streams, and reopened ones follow the role as it is now', async () => {
    const made = await api.http.post('role', {
      name: 'guard',
      can_access_api: true,
      can_operate_others: true,
    });
    const { role_id } = made.json<{ role_id: number }>();
    await accounts.addUser('guard', { role_id }, 'secret words');
    const guard = new ApiClient(host, 'guard', 'secret words');
    const events = await watch(guard.http);
    const first = await api.submit();
    await events.next('execution', { id: first });
    expect((await api.http.post(`role/${role_id}`, { can_operate_others: false })).status).toBe(200);
    await eventually(async () => events.ended);
    const back = await reopen(guard.http, events.lastEventId);
    await api.terminate(first);
    const own = await guard.submit();
    await back.next('execution', { id: own });
    expect(back.statusesOf(first)).toEqual([]);
    await guard.terminate(own);
  });
}

test('H294: a stop of the control plane on Node ends its streams cleanly and does not wait for them', async () => {
  const host = await startHost({ kind: 'node', variant: 'B' });
  const [events, agent] = [await watch(new ApiClient(() => host).http), new Agent({ keepAlive: true })];
  const keptAlive = await EventClient.open(
    new HttpClient(() => host.url(), basic('admin', host.adminPassword), agent),
  );
  await host.stop();
  await eventually(async () => events.ended && keptAlive.ended, AT_ONCE_MS);
  agent.destroy();
  expect([events.ended, keptAlive.ended]).toEqual(['ended', 'ended']);
});
