import { expect, test } from 'vitest';
import { ScriptedAgent, seen } from '../../support/agents/scripted-agent.ts';
import { ApiClient } from '../../support/clients/api-client.ts';
import { onHosts, type Setup } from '../../support/hosts/hosts.ts';

const inA: readonly Setup[] = [
  { kind: 'node', variant: 'A' },
  { kind: 'workerd', variant: 'A' },
];

/**
 * The other differences are in the suites that run in both groups: errors, executions and execution-states.
 */
onHosts(inA, (host) => {
  const api = new ApiClient(host);

  test('H70: in group A login returns role and user name', async () => {
    const reply = await api.http.get('login');
    expect(reply.json()).toEqual({ role: 'admin', uid: 'admin' });
    expect(reply.headers['set-cookie']?.[0]).toContain('berth_session=');
  });

  test('H70: in group A a queued execution is called scheduled, and user_id is the user name', async () => {
    const id = await api.submit();
    const execution = await api.execution(id);
    expect(execution).toMatchObject({ status: 'scheduled', user_id: 'admin' });
    expect((await api.list())[id]).toEqual(execution);
    await api.terminate(id);
  });

  test('H70: in group A the other states have the same words', async () => {
    const agent = await ScriptedAgent.join(host());
    const id = await api.submit();
    const [one] = await agent.assigned(id);
    if (!one) throw new Error('no assignment');
    const words = [(await api.execution(id)).status];
    await agent.report(seen.running(one));
    words.push((await api.execution(id)).status);
    await api.terminate(id);
    words.push((await api.execution(id)).status);
    await agent.report(seen.gone(one));
    words.push((await api.execution(id)).status);
    expect(words).toEqual(['starting', 'running', 'cleaning up', 'terminated']);
    await agent.close();
  });
});
