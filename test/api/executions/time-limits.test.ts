/** Time limits of executions and of quotas, on both hosts. */
import { expect, test } from 'vitest';
import { ScriptedAgent, seen } from '../../support/agents/scripted-agent.ts';
import { ApiClient } from '../../support/clients/api-client.ts';
import { basic, expectAnswer, NATIVE } from '../../support/clients/http-client.ts';
import { WebClient } from '../../support/clients/web-client.ts';
import { application, service, waiting } from '../../support/fixtures/descriptions.ts';
import { addUser } from '../../support/fixtures/users.ts';
import { hosts, onHosts } from '../../support/hosts/hosts.ts';
import { eventually } from '../../support/tools/eventually.ts';

const one = application(service());

onHosts(hosts, (host) => {
  const { http: admin } = new ApiClient(host);

  const submit = async (fields: object, client = admin) => {
    const reply = await client.post(`${NATIVE}/execution`, {
      name: 'timed',
      application: waiting,
      ...fields,
    });
    expect(reply.status, reply.text).toBe(200);
    return reply.json<{ execution_id: number }>().execution_id;
  };
  const shown = async (id: number) =>
    (await admin.get(`${NATIVE}/execution/${id}`)).json<{
      status: string;
      time_limit: number | null;
      error_message: string | null;
    }>();
  const limit = (id: number, time_limit: unknown, client = admin) =>
    client.post(`${NATIVE}/execution/${id}`, { time_limit });

  test('W26: the page of an execution shows its time limit', async () => {
    const web = await WebClient.logIn(host);
    const page = async (fields: object) => (await web.get(`/executions/${await submit(fields)}`)).text;
    expect(await page({ time_limit: 5_400 })).toContain('<dt>Time limit</dt><dd>1 h 30 min</dd>');
    expect(await page({})).not.toContain('Time limit');
  });

  test.each([0, -1, 1.5, 31_536_001, '60', null])('H480: time_limit %j is 400', async (time_limit) => {
    const body = { name: 'timed', application: waiting, time_limit };
    await expectAnswer(admin.post('execution', body), 400, 'time_limit');
  });

  test("C271, H481: a quota has a default and a longest time limit, under Berth's own path", async () => {
    const caps = { concurrent_executions: 0, memory: 0, cores: 0 };
    const limits = { time_limit: 60, max_time_limit: 600 };
    expect((await admin.post('quota', { name: 'refused', ...caps, ...limits })).status).toBe(400);
    const made = await admin.post(`${NATIVE}/quota`, { name: 'timed', ...caps, ...limits });
    const { quota_id } = made.json<{ quota_id: number }>();
    const quotaAt = async (path: string) => (await admin.get(path)).json<{ quota: object }>().quota;
    expect(await quotaAt(`${NATIVE}/quota/${quota_id}`)).toMatchObject(limits);
    expect(await quotaAt(`quota/${quota_id}`)).not.toHaveProperty('time_limit');
    await addUser(host(), 'bob', 'walks his dog', 'user');
    const users = (await admin.get('user?username=bob')).json<Record<string, { id: number }>>();
    const bobId = Object.values(users)[0]?.id;
    expect((await admin.post(`user/${bobId}`, { quota_id })).status).toBe(200);
    const bob = admin.with(basic('bob', 'walks his dog'));
    const id = await submit({}, bob);
    expect((await shown(id)).time_limit).toBe(60);
    const refused = await bob.post('execution', { name: 'long', application: waiting, time_limit: 601 });
    expect([refused.status, refused.text.includes('at most 600 s')]).toEqual([400, true]);
    await admin.post(`${NATIVE}/quota/${quota_id}`, { time_limit: 30 });
    expect((await shown(await submit({}, bob))).time_limit).toBe(30);
    expect((await shown(id)).time_limit).toBe(60);
    // C272: the owner stays within the quota, and an administrator need not.
    expect((await limit(id, 600, bob)).status).toBe(200);
    expect((await limit(id, 601, bob)).status).toBe(400);
    expect((await limit(id, null, bob)).status).toBe(400);
    expect((await limit(id, 601)).status).toBe(200);
    expect((await shown(id)).time_limit).toBe(601);
  });

  test('C272, H482: a limit is changed while the execution runs, and one that is over ends it at once', async () => {
    await using agent = await ScriptedAgent.join(host());
    const id = await submit({ application: one });
    const assigned = await agent.runs(id);
    expect((await shown(id)).time_limit).toBeNull();
    expect((await limit(id, 600)).status).toBe(200);
    const { summary } = (await admin.get(`${NATIVE}/execution/${id}/explain`)).json<{ summary: string }>();
    expect(summary).toMatch(/Its time limit of 600 s, counted from its placement, is over in \d+ s\.$/);
    const read = (await admin.get(`execution/${id}`)).json<object>();
    expect(read).not.toHaveProperty('time_limit');
    expect((await limit(id, 1)).status).toBe(200);
    await agent.released(id);
    expect((await limit(id, 600)).status).toBe(409);
    await agent.report(seen.gone(assigned));
    await eventually(async () => (await shown(id)).status === 'error');
    expect((await limit(id, 600)).status).toBe(409);
  });

  test("H482: another user's execution is 404, and another body 400, and only Berth's own path changes limits", async () => {
    const id = await submit({});
    await addUser(host(), 'eve', 'is curious about it', 'user');
    const eve = admin.with(basic('eve', 'is curious about it'));
    expect((await limit(id, 5, eve)).status).toBe(404);
    expect((await limit(999_999, 5)).status).toBe(404);
    for (const time_limit of [0, 'long', undefined]) expect((await limit(id, time_limit)).status).toBe(400);
    expect((await admin.post(`execution/${id}`, { time_limit: 5 })).status).toBe(405);
    expect((await limit(id, null)).status).toBe(200);
  });
});
