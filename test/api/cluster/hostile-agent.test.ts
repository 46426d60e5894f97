import { expect, onTestFinished, test } from 'vitest';
import { MAX_MESSAGE_LENGTH } from '../../../shared/protocol/bounds.ts';
import { type AgentOptions, ScriptedAgent, seen } from '../../support/agents/scripted-agent.ts';
import { ApiClient } from '../../support/clients/api-client.ts';
import { application, service } from '../../support/fixtures/descriptions.ts';
import { eitherGroup, onHosts } from '../../support/hosts/hosts.ts';
import { eventually } from '../../support/tools/eventually.ts';

onHosts(eitherGroup, (host) => {
  const api = new ApiClient(host);
  const join = async (options: AgentOptions = {}): Promise<ScriptedAgent> => {
    const agent = await ScriptedAgent.join(host(), options);
    onTestFinished(() => agent.close());
    return agent;
  };

  test('P137: a failure with a message of 700 KB is stored as the beginning of the message, with a mark', async () => {
    const agent = await join();
    const id = await api.submit(application(service()));
    const one = await agent.only(id);
    await agent.report(seen.failed(one, `no such image ${'x'.repeat(700_000)}`));
    await agent.report(seen.gone(one));
    const message = await eventually(async () => (await api.execution(id)).error_message);
    expect(message).toMatch(/no such image x+ \.\.\. \(cut\)/);
    expect(message?.length).toBeLessThan(MAX_MESSAGE_LENGTH + 200);
  });

  test('P136: a container id of 700 KB closes with 4400, and nothing of its report counts', async () => {
    const agent = await join();
    const id = await api.submit(application(service()));
    const one = await agent.only(id);
    const running = { ...seen.running(one), containerId: 'c'.repeat(700_000) };
    await expect(agent.report(running)).rejects.toThrow('4400');
    expect(await api.service(one.service)).toMatchObject({ backend_id: '', status: 'starting' });
    const again = await join({ inventory: [seen.running(one)] });
    expect(again.assignments.size).toBeGreaterThan(0);
    expect((await api.execution(id)).status).toBe('running');
  });

  test('C210, C211: 60 hellos with ids that were never given do not move the next id, not even with the proof of a true one', async () => {
    const agent = await join();
    const id = await api.submit(application(service()));
    const one = await agent.only(id);
    const { idProof: proof = '' } = one;
    await agent.close();
    for (let at = 1; at <= 60; at++) {
      const highest = { execution: id + at * 99_000_000, service: one.service + at * 99_000_000 };
      const idProofs = at % 2 === 0 ? [{ ...highest, proof }] : [];
      const liar = await ScriptedAgent.greet(host(), { highest, idProofs });
      expect(await liar.closed()).toBe(4400);
      expect(liar.messages).toEqual([]);
    }
    expect(await api.submit(application(service()))).toBe(id + 1);
    expect(host().output()).toContain('"event":"agent.unproven-ids"');
    expect(host().output()).not.toContain(proof);
  });
});
