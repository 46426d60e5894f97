/** Gateways and the coordinator on workerd, killed one by one while agents are connected. */
import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Assignment, keyOf } from '../../../../shared/protocol/assignment.ts';
import { ScriptedAgent, seen } from '../../../support/agents/scripted-agent.ts';
import { ApiClient } from '../../../support/clients/api-client.ts';
import { application, service } from '../../../support/fixtures/descriptions.ts';
import { ADMIN_PASSWORD } from '../../../support/hosts/hosts.ts';
import { type MortalHost, startMortalHost } from '../../../support/hosts/workerd/host-mortal.ts';

/** The first two share gateway 0, the others gateway 1. */
const NAMES = ['one', 'two', 'three', 'four'] as const;
type Name = (typeof NAMES)[number];

let host: MortalHost;
const api = new ApiClient(() => host);
const agents = new Map<Name, ScriptedAgent>();

beforeAll(async () => {
  host = await startMortalHost({ BERTH_LIMITS: JSON.stringify({ hostsPerGateway: 2 }) });
  await new ApiClient(host.url(), 'admin', ADMIN_PASSWORD).removeQuotaLimits();
});
afterAll(() => host.stop());

beforeEach(async () => {
  for (const name of NAMES) agents.set(name, await join(name));
});

const join = (name: Name, running: Assignment[] = []) =>
  ScriptedAgent.join(host, { facts: { name, labels: [name] }, inventory: running.map(seen.running) });

const agentOf = (name: Name): ScriptedAgent => {
  const agent = agents.get(name);
  if (!agent) throw new Error(`${name} has no agent`);
  return agent;
};

const submit = (name: Name) => api.submit(application(service({ labels: [name] })));

const startOn = async (name: Name): Promise<Assignment> => agentOf(name).runs(await submit(name));

/** A reader that has received `part`. */
async function reading(name: Name, { service: id }: Assignment, part: string) {
  const opening = api.http.open('GET', `service/logs/${id}`);
  const log = await agentOf(name).log(id);
  await log.write(part);
  return { response: await opening, log };
}

/** The whole output, or the word `broken` if the response broke off. */
const wholeOf = (response: IncomingMessage): Promise<string> => text(response).catch(() => 'broken');

/** How the connection of a host ended, and the number of its welcomes. */
const stateOf = (name: Name) => [agentOf(name).closeCode, agentOf(name).all('welcome').length];
/** Still connected, by its first hello. */
const UNDISTURBED = [undefined, 1];

test('P172, P174: of a gateway that is killed only its own hosts say hello again: nothing is lost or starts twice, and logs go on', async () => {
  const [one, two, three] = [await startOn('one'), await startOn('two'), await startOn('three')];
  const [mine, other] = [await reading('one', one, 'first '), await reading('three', three, 'first ')];
  const [log, otherLog] = [wholeOf(mine.response), wholeOf(other.response)];
  await host.killObject(0);
  const started = await submit('one');
  const stopped = api.terminate(two.execution);
  expect([await agentOf('one').closed(), await agentOf('two').closed()]).toEqual([1006, 1006]);
  await other.log.write('second');
  const later = await startOn('three');
  await stopped;

  const [again, twoAgain] = [await join('one', [one]), await join('two', [two])];
  expect(again.assignments.get(keyOf(one))).toEqual(one);
  const [next] = await again.assigned(started);
  expect(next).toMatchObject({ execution: started, generation: 1 });
  expect(again.all('start').filter(({ assignment }) => assignment.service === one.service)).toEqual([]);
  expect(twoAgain.assignments.size).toBe(0);
  await twoAgain.report(seen.gone(two));
  const resumed = await again.log(one.service);
  expect(resumed.opened).toMatchObject({ generation: 1, offset: 'first '.length });
  await resumed.write('second');
  for (const [agent, of, end] of [
    [again, one, resumed],
    [agentOf('three'), three, other.log],
  ] as const) {
    await agent.report(seen.exited(of, 0));
    end.end();
  }
  expect([await log, await otherLog]).toEqual(['first second', 'first second']);
  expect((await api.execution(two.execution)).status).toBe('terminated');
  expect((await api.execution(later.execution)).status).toBe('running');
  expect([stateOf('three'), stateOf('four')]).toEqual([UNDISTURBED, UNDISTURBED]);
  expect(agentOf('three').logs).toHaveLength(1);
  for (const agent of [again, twoAgain, agentOf('three'), agentOf('four')]) await agent.close();
});
