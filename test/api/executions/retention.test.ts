import { expect, test } from 'vitest';
import { DAY_MS } from '../../../control-plane/core/lifecycle/retention.ts';
import { ScriptedAgent, seen } from '../../support/agents/scripted-agent.ts';
import { ApiClient } from '../../support/clients/api-client.ts';
import { hosts, onHostsWith } from '../../support/hosts/hosts.ts';
import { eventually } from '../../support/tools/eventually.ts';

/** Long enough for a slow machine to read an execution that has just ended. */
const KEEP_MS = 10_000;
const TIMEOUT_MS = 60_000;

onHostsWith({ BERTH_LIMITS: JSON.stringify({ endedDays: KEEP_MS / DAY_MS }) }, hosts, (host) => {
  test('C240, H392: an ended execution goes with its services after its days', {
    timeout: 2 * TIMEOUT_MS,
  }, async () => {
    const api = new ApiClient(host);
    await using agent = await ScriptedAgent.join(host());
    const id = await api.submit();
    const one = await agent.runs(id);
    await api.terminate(id);
    await agent.report(seen.gone(one));
    const { time_end } = await api.execution(id);
    const statusOf = async () => (await api.http.get(`execution/${id}`)).status;
    await eventually(async () => (await statusOf()) === 404, TIMEOUT_MS);
    expect(Date.now()).toBeGreaterThanOrEqual(Number(time_end) * 1_000 + KEEP_MS);
    expect((await api.http.get(`service/${one.service}`)).status).toBe(404);
    const historyOf = async () => (await api.statistics()).history;
    await eventually(async () => (await historyOf()).reviewed !== null);
    expect(await historyOf()).toEqual({
      ...{ keep_ended_days: KEEP_MS / DAY_MS, removed: 1, reviewed: expect.any(Number) },
    });
  });
});
