import { expect, test } from 'vitest';
import { ScriptedAgent, seen } from '../../../support/agents/scripted-agent.ts';
import { ApiClient } from '../../../support/clients/api-client.ts';
import { hosts, onHosts } from '../../../support/hosts/hosts.ts';
import { eventually } from '../../../support/tools/eventually.ts';

/** A service of an execution that the database does not have. */
const unknownStart = { service: 500, generation: 3 };
const laterHello = {
  inventory: [{ ...seen.created(unknownStart) }],
  highest: { execution: 70, service: 520 },
};

onHosts(hosts, (host) => {
  const api = new ApiClient(host);

  test('C100, C101: an older copy of the database gives no id again, and the agent must leave unknown services alone', async () => {
    const agent = await ScriptedAgent.join(host(), laterHello);
    expect(agent.all('sync').at(-1)?.unknown).toEqual([{ first: 1, last: 520 }]);
    await eventually(() => host().output().includes('agent.unknown-containers'));
    expect(await api.submit()).toBe(71);
    await host().crash();
    await host().start();
    const again = await ScriptedAgent.join(host(), laterHello);
    expect(again.all('sync').at(-1)?.unknown).toEqual([{ first: 1, last: 520 }]);
    const id = await api.submit();
    expect(id).toBe(72);
    const [one] = await again.assigned(id);
    expect(one?.service).toBeGreaterThan(520);
    await again.close();
  });

  test('C210: an older copy of the database accepts the proofs of ids that were given later, however many there are', async () => {
    const later = { execution: 6_000_000_000, service: 7_000_000_000 };
    await givenUpTo(later);
    await host().start();
    const first = await ScriptedAgent.join(host());
    const id = await api.submit();
    const [one] = await first.assigned(id);
    if (!one?.idProof) throw new Error('no proof');
    expect(id).toBe(later.execution);
    await givenUpTo({ execution: 1_000, service: 1_000 }, id);
    await host().start();
    const { execution, service, idProof: proof } = one;
    const highest = { execution, service };
    const refused = await ScriptedAgent.greet(host(), { highest });
    expect(await refused.closed()).toBe(4400);
    const agent = await ScriptedAgent.join(host(), { highest, idProofs: [{ ...highest, proof }] });
    expect(await api.submit()).toBe(id + 1);
    expect(agent.all('sync').at(-1)?.unknown?.at(-1)).toEqual({ first: 1_000, last: service });
    await agent.close();
  });

  /** Ends the control plane, sets the next ids, and removes an execution that the copy does not have. */
  async function givenUpTo(ids: { execution: number; service: number }, later = 0): Promise<void> {
    await host().crash();
    const db = await host().openDb();
    await db.batch([
      { sql: 'DELETE FROM services WHERE execution_id = ?', args: [later] },
      { sql: 'DELETE FROM executions WHERE id = ?', args: [later] },
      ...(['execution', 'service'] as const).map((of) => ({
        sql: 'UPDATE sqlite_sequence SET seq = ? WHERE name = ?',
        args: [ids[of] - 1, `${of}s`],
      })),
    ]);
    await db.close();
  }

  test('C102: a container of a later start than the database records continues', async () => {
    const first = await ScriptedAgent.join(host());
    const id = await api.submit();
    const [one] = await first.assigned(id);
    if (!one) throw new Error('no assignment');
    await first.report(seen.running(one));
    await first.close();
    const later = { ...one, generation: 5 };
    const again = await ScriptedAgent.join(host(), { inventory: [seen.running(later)] });
    expect(again.assignments.get(`${one.service}.5`)).toEqual(later);
    expect((await api.execution(id)).status).toBe('running');
    await again.close();
  });
});

onHosts(
  hosts,
  (host) => {
    test('C101: with BERTH_UNKNOWN_CONTAINERS=remove no service is left alone', async () => {
      const agent = await ScriptedAgent.join(host(), laterHello);
      expect(agent.all('sync').at(-1)?.unknown).toBeUndefined();
      await agent.close();
    });
  },
  { BERTH_UNKNOWN_CONTAINERS: 'remove' },
);
