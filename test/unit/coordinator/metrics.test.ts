import { text } from 'node:stream/consumers';
import { beforeEach, expect, test } from 'vitest';
import { metricsText } from '../../../control-plane/core/metrics/family.ts';
import { CoordinatorRig, codeOf, seen } from '../../support/rigs/coordinator-rig.ts';
import { exited } from '../../support/rigs/core-rig.ts';

let rig: CoordinatorRig;
beforeEach(async () => {
  rig = await CoordinatorRig.open();
});

const read = async () => metricsText(await rig.coordinator.metrics(10)).split('\n');

test('H454: a scrape commits nothing', async () => {
  await rig.submit();
  const before = (await read()).find((line) => line.startsWith('berth_commit_duration_seconds_count'));
  for (let at = 0; at < 3; at++) await read();
  expect(await read()).toContain(before);
  expect(before).not.toMatch(/ 0$/);
});

test('H454: without the database there are the counts, and the coordinator is not active', async () => {
  await rig.submit();
  expect(await read()).toContain('berth_coordinator_active 1');
  rig.db.failing = 'unreachable';
  expect(await codeOf(rig.submit())).toBe('unavailable');
  const lines = await read();
  expect(lines).toContain('berth_coordinator_active 0');
  expect(lines.filter((line) => /^berth_(executions|hosts)\{/.test(line))).toEqual([]);
  expect(lines.find((line) => line.startsWith('berth_state_losses_total'))).not.toBe(
    'berth_state_losses_total 0',
  );
});

test('H452: connections of agents are counted, and those of a host that had one before', async () => {
  const one = await rig.agent().join();
  expect(await read()).toContain('berth_agent_reconnects_total 0');
  one.drop();
  await rig.agent().join();
  const lines = await read();
  expect(lines).toContain('berth_agent_connections_total 2');
  expect(lines).toContain('berth_agent_reconnects_total 1');
});

test('H452: bytes of logs and open streams are counted', async () => {
  const { agent: one, start: web } = await rig.runs();
  const log = text(await rig.openLog(web.service));
  expect(await read()).toContain('berth_limit_used{name="log_streams",setting=""} 1');
  one.write(5, '12345');
  await one.reportAndWait(seen(web, exited(0)));
  one.endLog();
  expect(await log).toBe('12345');
  const lines = await read();
  expect(lines).toContain('berth_log_bytes_total 5');
  expect(lines).toContain('berth_limit_used{name="log_streams",setting=""} 0');
});

test('H452: keys of requests are counted, those of the user who has most', async () => {
  const used = () => read().then((lines) => lines.filter((line) => line.includes('idempotency_keys')));
  const labels = 'name="idempotency_keys_of_one_user",setting="BERTH_LIMITS.idempotencyKeysPerUser"';
  expect(await used()).toContain(`berth_limit_used{${labels}} 0`);
  for (const key of ['a', 'b', 'b']) await rig.submitOnce({ key, digest: 'of the request' });
  expect(await used()).toContain(`berth_limit_used{${labels}} 2`);
});
