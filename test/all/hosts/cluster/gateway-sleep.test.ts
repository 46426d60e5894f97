/** Gateways and the coordinator on workerd that sleep while nothing is under way. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Assignment } from '../../../../shared/protocol/assignment.ts';
import { ScriptedAgent, seen } from '../../../support/agents/scripted-agent.ts';
import { ApiClient } from '../../../support/clients/api-client.ts';
import { application, service } from '../../../support/fixtures/descriptions.ts';
import { type MortalHost, startMortalHost } from '../../../support/hosts/workerd/host-mortal.ts';
import { eventually } from '../../../support/tools/eventually.ts';

/** The runtime lets a gateway sleep that has had no work for 10 s. */
const ASLEEP_MS = 13_000;
/** By then the coordinator has nothing under way, and has saved what it needs. */
const RESTS_MS = 3_000;
const REVIEWED_MS = 9_000;
const LOST_AFTER_S = 20;

let host: MortalHost;
const api = new ApiClient(() => host);
beforeAll(async () => {
  // Each host has a gateway of its own.
  host = await startMortalHost({
    BERTH_LIMITS: JSON.stringify({ hostsPerGateway: 1, hostLostAfterS: LOST_AFTER_S }),
  });
});
afterAll(() => host.stop());

/** Lets time pass in which agents show that they live by pulses, and one by reports. */
async function pass(durationMs: number, pulsing: ScriptedAgent[], reporting?: ScriptedAgent): Promise<void> {
  const untilMs = performance.now() + durationMs;
  await eventually(async () => {
    await Promise.all(pulsing.map((agent) => agent.pulse()));
    await reporting?.report();
    return performance.now() > untilMs;
  }, 2 * durationMs);
}

/**
 * The runtime takes the coordinator's memory, as it does some minutes after the last work: here at once.
 * Resolves to the number of connections that it went on with.
 */
async function evictCoordinator(...pulsing: ScriptedAgent[]): Promise<void> {
  await pass(RESTS_MS, pulsing);
  await host.killObject('coordinator');
}

const countOf = (event: string) => host.output().split(`"${event}"`).length - 1;

const startOn = async (label: string, agent: ScriptedAgent): Promise<Assignment> =>
  agent.runs(await api.submit(application(service({ labels: [label] }))));

const join = (name: string) => ScriptedAgent.join(host, { facts: { name, labels: [name] } });

/** How the connection ended, and the number of its welcomes. */
const stateOf = (agent: ScriptedAgent) => [agent.closeCode, agent.all('welcome').length];
/** Still connected, by its first hello. */
const UNDISTURBED = [undefined, 1];

test('P176: a gateway that has slept goes on with its agents without a hello, and answers pings and pulses without waking', async () => {
  const [sleeper, busy] = [await join('sleeper'), await join('busy')];
  await pass(ASLEEP_MS, [sleeper], busy);
  await sleeper.ping();
  await sleeper.pulse();
  expect(countOf('gateway.woke')).toBe(0);
  await sleeper.report();
  expect(countOf('gateway.woke')).toBe(1);
  const started = await startOn('sleeper', sleeper);
  expect((await api.execution(started.execution)).status).toBe('running');
  expect(stateOf(sleeper)).toEqual(UNDISTURBED);
  await busy.close();
  await sleeper.close();
});

test('C232, P179: a coordinator that has slept starts and stops services without a hello of any agent', async () => {
  const [one, two] = [await join('one'), await join('two')];
  expect(one.all('welcome')[0]).toMatchObject({ reportPeriodMs: 2_222, pulseMs: 2_222 });
  const before = countOf('coordinator.woke');
  const running = await startOn('one', one);
  await evictCoordinator(one, two);
  await startOn('two', two);
  await evictCoordinator(one, two);
  const { execution } = running;
  await api.terminate(execution);
  await one.released(execution);
  await evictCoordinator(one, two);
  await one.report(seen.gone(running));
  await api.waitFor(execution, 'terminated');
  expect(countOf('coordinator.woke')).toBe(before + 3);
  expect([stateOf(one), stateOf(two)]).toEqual([UNDISTURBED, UNDISTURBED]);
  const { awake } = await api.statistics();
  expect(awake?.coordinator.wakes).toBeGreaterThan(0);
  expect(awake?.gateways?.wakes).toBeGreaterThan(0);
  await Promise.all([one.close(), two.close()]);
});

test('C131, P172: a coordinator that ends while it is awake is followed by another within 30 s, although nobody calls it', async () => {
  const one = await join('one');
  // The first review of the history is over then, and nothing else is due.
  await pass(REVIEWED_MS, [one]);
  await one.report();
  await host.killObject('coordinator');
  await eventually(() => {
    void one.pulse().catch(() => {});
    return one.closeCode !== undefined;
  }, 70_000);
  expect([one.closeCode, countOf('gateway.silent')]).toEqual([4000, 0]);
});

test('P180: a host that dies while gateway and coordinator sleep is lost in time, and no other is', async () => {
  const [living, dying] = [await join('living'), await join('dying')];
  await evictCoordinator(living, dying);
  await pass(500 * LOST_AFTER_S, [living]);
  expect(countOf('gateway.silent')).toBe(0);
  await eventually(async () => {
    await living.pulse();
    return countOf('gateway.silent') > 0;
  }, 2_000 * LOST_AFTER_S);
  const stateIs = async (name: string, state: string) => (await api.host(name)).state === state;
  await eventually(() => stateIs('dying', 'lost'));
  expect(await stateIs('living', 'ready')).toBe(true);
  expect(stateOf(living)).toEqual(UNDISTURBED);
});
