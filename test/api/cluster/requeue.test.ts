import { once } from 'node:events';
import { expect, test } from 'vitest';
import { ScriptedAgent, seen } from '../../support/agents/scripted-agent.ts';
import { ApiClient } from '../../support/clients/api-client.ts';
import { hosts, onHostsWith, writeRow } from '../../support/hosts/hosts.ts';
import { eventually } from '../../support/tools/eventually.ts';

/** The lease and its margin, with the settings below. */
const REQUEUE_MS = 35_000;
/**
 * What is left of that time when the control plane starts. If the start takes longer, the time begins anew
 * (C105).
 */
const LEFT_MS = 15_000;

onHostsWith(
  { BERTH_HOST_LOSS: 'requeue', BERTH_LIMITS: JSON.stringify({ hostLostAfterS: 5 }) },
  hosts,
  (host) => {
    const api = new ApiClient(host);

    test('C103, C105, H827: services of a lost host start elsewhere once its lease has passed, even across a restart, which their logs say, and the returning host has no assignments', {
      timeout: 120_000,
    }, async () => {
      const first = await ScriptedAgent.join(host());
      expect(first.all('welcome')[0]?.leaseMs).toBe(5_000);
      const id = await api.submit();
      const one = await first.runs(id);
      await host().crash();
      const silentSinceMs = Date.now() - REQUEUE_MS + LEFT_MS;
      await writeRow(host(), 'UPDATE hosts SET lost = 1, silent_since_ms = ? WHERE lease_ms = 5000', [
        silentSinceMs,
      ]);
      await host().start();
      const log = await api.http.open('GET', `service/logs/${one.service}`);
      expect(String(await once(log, 'data'))).toMatch(/^\[berth\] Host \S+ is lost/);
      log.destroy();
      await eventually(async () => (await api.execution(id)).status === 'queued', 90_000);
      const second = await ScriptedAgent.join(host(), { facts: { name: 'second' } });
      const [again] = await second.assigned(id);
      expect(again).toMatchObject({ service: one.service, generation: 2 });
      const back = await ScriptedAgent.join(host(), { inventory: [seen.running(one)] });
      expect([...back.assignments.values()]).toEqual([]);
      await Promise.all([second.close(), back.close()]);
    });
  },
);
