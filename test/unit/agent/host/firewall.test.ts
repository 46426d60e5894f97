import { expect, onTestFinished, test } from 'vitest';
import { firewallRules, hostFirewall, watchFirewall } from '../../../../agent/host/firewall.ts';
import { eventually } from '../../../support/tools/eventually.ts';

test('P97: an agent that cannot set the firewall reports why, with the remedy, and tries again', async () => {
  const found: (string | undefined)[] = [];
  let attempts = 0;
  const firewall = {
    apply: async () => {
      attempts += 1;
      if (attempts < 3) throw new Error('iptables: Permission denied');
    },
  };
  onTestFinished(await watchFirewall({ firewall, found: (problem) => found.push(problem), everyMs: 1 }));
  const problem =
    "containers reach this host's own services and the metadata service of a cloud: iptables: Permission denied";
  expect(found).toEqual([problem]);
  await eventually(() => found.length > 3);
  expect(found.slice(1, 4)).toEqual([problem, undefined, undefined]);
});

test('P97: an agent whose engine is on another machine cannot set the firewall', async () => {
  await expect(hostFirewall(false).apply()).rejects.toThrow(
    'the engine is on another machine: set the firewall there, or put firewall into BERTH_AGENT_WITHOUT',
  );
});

test('P96: name servers are reachable also at metadata addresses, and the range of host ports on the host', () => {
  const rules = firewallRules('32768\t60999\n', []).split('\n');
  const at = (rule: string) => rules.indexOf(`-A ${rule}`);
  expect(at('BERTH-FORWARD -p udp --dport 53 -j RETURN')).toBeGreaterThan(0);
  expect(at('BERTH-FORWARD -d 169.254.0.0/16 -j REJECT')).toBeGreaterThan(
    at('BERTH-FORWARD -p tcp --dport 53 -j RETURN'),
  );
  expect(at('BERTH-INPUT -p tcp --dport 32768:60999 -j RETURN')).toBeGreaterThan(0);
  expect(rules.at(-3)).toBe('-A BERTH-INPUT -j REJECT');
});
