import { afterEach, expect, test } from 'vitest';
import { ScriptedAgent } from '../../support/agents/scripted-agent.ts';
import { hosts, onHostsWith } from '../../support/hosts/hosts.ts';
import { eventually } from '../../support/tools/eventually.ts';

/** Five times what a host may send at once, if that is 1 MiB. */
const REPORTS = 5 * 1_024;

onHostsWith({ BERTH_LIMITS: JSON.stringify({ hostMessageBytes: '1MiB' }) }, hosts, (host, { kind }) => {
  const agents: ScriptedAgent[] = [];

  afterEach(() => {
    for (const agent of agents.splice(0)) agent.terminate();
  });

  test('P152: reports of a host beyond its allowance wait or close its connection, and another host is served meanwhile', async () => {
    const honest = await ScriptedAgent.join(host(), { facts: { name: 'honest' } });
    const flooding = await ScriptedAgent.join(host(), { facts: { name: 'flooding' } });
    agents.push(honest, flooding);
    for (let sequence = 1; sequence <= REPORTS; sequence++)
      flooding.send({ type: 'report', sequence, observations: [], forgotten: [] });
    await eventually(() => host().output().includes('"event":"agent.too-many-messages"'));
    if (kind === 'workerd') expect(await flooding.closed()).toBe(4503);
    await honest.report();
    // An acknowledgement covers all reports up to its sequence (P7).
    expect(flooding.all('ack').at(-1)?.sequence ?? 0).toBeLessThan(REPORTS / 2);
    expect(host().output()).toContain('"host":"flooding"');
  });
});
