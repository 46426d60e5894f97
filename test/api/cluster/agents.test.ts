import { afterEach, expect, onTestFinished, test } from 'vitest';
import { type AgentOptions, ScriptedAgent, seen } from '../../support/agents/scripted-agent.ts';
import { ApiClient } from '../../support/clients/api-client.ts';
import { application, service } from '../../support/fixtures/descriptions.ts';
import { eitherGroup, onHosts } from '../../support/hosts/hosts.ts';
import { eventually } from '../../support/tools/eventually.ts';

onHosts(eitherGroup, (host) => {
  const api = new ApiClient(host);
  let tests = 0;
  afterEach(() => void tests++);

  /** A host for this test only, so that services of earlier tests are elsewhere. */
  const facts = (options: AgentOptions['facts'] = {}) => ({
    name: `host${tests}`,
    labels: [`test${tests}`],
    ...options,
  });
  const closing = (agent: ScriptedAgent): ScriptedAgent => {
    onTestFinished(() => agent.close());
    return agent;
  };
  const join = async (options: AgentOptions = {}) =>
    closing(await ScriptedAgent.join(host(), { ...options, facts: facts(options.facts) }));
  const submit = (count = 1) =>
    api.submit(
      application(service({ total_count: count, essential_count: count, labels: [`test${tests}`] })),
    );

  test('P1: credentials that are no proof are refused with 401', async () => {
    const wrong = ['Bearer wrong-token-of-some-length', 'Bearer', `Basic ${btoa('admin:correct: horse')}`];
    for (const authorization of [undefined, ...wrong])
      await expect(ScriptedAgent.dial(host(), authorization)).rejects.toThrow('401');
  });

  test('P319: the lack of containers on another engine than that of the host ends nothing, and its agent is refused', async () => {
    const engine = { id: 'one@/var/lib/docker' };
    const first = await join({ engine });
    const id = await submit();
    const one = await first.runs(id);
    const running = async () => expect((await api.execution(id)).status).toBe('running');
    const refused = async (options: AgentOptions) => {
      const copy = closing(await ScriptedAgent.greet(host(), { ...options, facts: facts() }));
      return [await copy.closed(), copy.closeReason];
    };
    const name = facts().name;
    const reason = `the services of host ${name} are on the engine one@/var/lib/docker`;
    expect(await refused({ engine: { id: 'two' } })).toEqual([4412, reason]);
    // While the agent with the containers is there, nobody can have accepted another engine in its place.
    expect((await refused({ engine: { id: 'two', accepted: true } }))[0]).toBe(4503);
    await first.report(seen.running(one));
    await running();
    await first.close();
    expect((await refused({ engine: { id: 'two' } }))[0]).toBe(4412);
    await running();
    const back = await join({ engine, inventory: [seen.running(one)] });
    await running();
    await back.close();
    // Once accepted, the containers of the earlier engine are gone.
    await join({ engine: { id: 'two', accepted: true } });
    await eventually(async () => expect((await api.execution(id)).status).not.toBe('running'));
    expect((await refused({ engine }))[0]).toBe(4412);
  });

  test('P321: a second session with the key of a connected host is an event with both addresses', async () => {
    const [older] = [await join({ engine: { id: 'one' } }), await join({ engine: { id: 'one' } })];
    expect(await older.closed()).toBe(4409);
    const line = (isSame: boolean) => {
      const parts = ['agent.second-session', `"${facts().name}"`, `"isSameEngine":${isSame}`];
      const lines = host().output().split('\n');
      return lines.find((text) => parts.every((part) => text.includes(part)));
    };
    await eventually(() => line(true));
    expect(JSON.parse(line(true)?.replace(/^[^{]*/, '') ?? '')).toMatchObject({
      present: '127.0.0.1',
      second: '127.0.0.1',
    });
    const copy = await ScriptedAgent.greet(host(), { engine: { id: 'two' }, facts: facts() });
    expect(await copy.closed()).toBe(4412);
    await eventually(() => line(false));
  });

  test('P2: a close by the agent is answered at once', async () => {
    const agent = await join();
    await agent.close();
    // A close without an answer ends as 1006.
    expect(agent.closeCode).toBe(1000);
  });
});
