import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ScriptedAgent, seen } from '../../support/agents/scripted-agent.ts';
import { ApiClient } from '../../support/clients/api-client.ts';
import { HttpClient, type Reply } from '../../support/clients/http-client.ts';
import { ADMIN_PASSWORD, eitherGroup, onHosts, queuedIn } from '../../support/hosts/hosts.ts';

onHosts(eitherGroup, (host, { variant }) => {
  const api = new ApiClient(host);

  const restart = async () => {
    await host().crash();
    await host().start();
  };

  describe('after a crash', () => {
    let queued: number[];
    let [terminated, deleted] = [0, 0];
    let cookie: string;
    let crowd: Reply[];

    // One crash for all of these tests, because they do not affect each other.
    beforeAll(async () => {
      // The crowd's Basic credentials end a session that was opened by such (H327).
      const form = new URLSearchParams({ username: 'admin', password: ADMIN_PASSWORD }).toString();
      const login = await new HttpClient(() => host().url(), {}).send('POST', '/login', form);
      cookie = login.headers['set-cookie']?.[0] ?? '';
      queued = await Promise.all(Array.from({ length: 20 }, () => api.submit()));
      [terminated, deleted] = [await api.submit(), await api.submit()];
      await Promise.all([api.terminate(terminated), api.remove(deleted)]);
      await restart();
      crowd = await Promise.all(Array.from({ length: 60 }, () => api.http.get('statistics/scheduler')));
    });
    afterAll(() => Promise.all(queued.map((id) => api.terminate(id))));

    test('H60: many requests right after a start are answered', () => {
      expect(crowd.filter(({ status }) => status !== 200)).toEqual([]);
    });

    test('H60: acknowledged submissions are in the queue after a crash', async () => {
      const { [terminated]: _, ...list } = await api.executions();
      expect(Object.keys(list).map(Number)).toEqual(queued.toSorted((a, b) => a - b));
      expect(new Set(Object.values(list).map(({ status }) => status))).toEqual(new Set([queuedIn(variant)]));
      expect(await api.statistics()).toMatchObject({ queue_length: 20 });
    });

    test('H60: an acknowledged termination and an acknowledged deletion hold after a crash', async () => {
      expect((await api.execution(terminated)).status).toBe('terminated');
      expect((await api.http.get(`execution/${deleted}`)).status).toBe(404);
    });

    test('H18: a cookie survives a crash', async () => {
      expect((await new HttpClient(() => host().url(), { cookie }).get('execution')).status).toBe(200);
    });

    test('H60: ids continue after a crash', async () => {
      const next = await api.submit();
      await api.remove(next);
      expect(next).toBeGreaterThan(deleted);
    });
  });

  test('H60: after a crash the queue starts as soon as a host connects, and running executions continue', async () => {
    const agent = await ScriptedAgent.join(host());
    const id = await api.submit();
    const one = await agent.runs(id);
    const before = await api.execution(id);
    await restart();
    expect(await agent.closed()).toBeGreaterThan(1000);
    expect(await api.execution(id)).toEqual(before);
    await using again = await ScriptedAgent.join(host(), { inventory: [seen.running(one)] });
    expect(again.assignments.get(`${one.service}.1`)).toEqual(one);
    expect(again.all('start').filter(({ assignment }) => assignment.service === one.service)).toEqual([]);
    expect(await api.execution(id)).toEqual(before);
    const next = await api.submit();
    expect(await again.assigned(next)).toHaveLength(1);
  });
});
