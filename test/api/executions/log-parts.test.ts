import { buffer } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Assignment } from '../../../shared/protocol/assignment.ts';
import { decodeFrame, FrameSplitter, noteOf } from '../../../shared/streams/log-frames.ts';
import { type AgentOptions, ScriptedAgent, seen } from '../../support/agents/scripted-agent.ts';
import { ApiClient } from '../../support/clients/api-client.ts';
import { application, service, waiting } from '../../support/fixtures/descriptions.ts';
import { hosts, onHosts } from '../../support/hosts/hosts.ts';
import { eventually } from '../../support/tools/eventually.ts';

onHosts(hosts, (host) => {
  const api = new ApiClient(host);
  let agent: ScriptedAgent;
  let tests = 0;
  // A separate host for each test.
  const join = (options: AgentOptions = {}) =>
    ScriptedAgent.join(host(), { facts: { name: `host${tests}` }, ...options });
  beforeEach(() => {
    tests += 1;
  });
  afterEach(async () => {
    if (agent.closeCode === undefined) await agent.close();
  });

  const running = async (): Promise<Assignment> => {
    const one = await agent.runs(await api.submit());
    return one;
  };
  const open = (
    { execution, service }: Pick<Assignment, 'execution' | 'service'>,
    query: string,
    from = '1.0',
  ) => api.http.open('GET', `/native/api/0.7/execution/${execution}/logs?from=${service}.${from}&${query}`);
  /** The output, and the notes of a stream that has ended. */
  const read = async (response: ReturnType<typeof open>) => {
    const frames = new FrameSplitter().push(await buffer(await response)).map(decodeFrame);
    const notes = frames.flatMap((frame) => noteOf(frame) ?? []);
    const output = frames.filter((frame) => frame.service > 0 && !noteOf(frame));
    return { text: Buffer.concat(output.map(({ payload }) => payload)).toString(), notes };
  };

  test('H500: with follow=false the stream of a service that waits for a host ends at once', async () => {
    agent = await join();
    const execution = await api.submit(waiting);
    const [one = 0] = (await api.execution(execution)).services;
    const reading = open({ execution, service: one }, 'follow=false');
    expect(await read(reading)).toEqual({ text: '', notes: [{ ended: true }] });
  });

  test('H501: the last lines are those of the last start, and come once even if the agent reconnects', async () => {
    agent = await join();
    const worker = service({ name: 'worker', monitor: false });
    const assigned = await agent.assigned(await api.submit(application(service(), worker)), 2);
    const one = assigned.find(({ instance }) => instance === 'worker0');
    if (!one) throw new Error('no assignment');
    await agent.report(...assigned.map(seen.running));
    await agent.report(seen.exited(one, 1), seen.gone(one));
    const next = await eventually(() => {
      const all = [...agent.assignments.values()];
      return all.find(({ service, generation }) => service === one.service && generation === 2);
    });
    if (!next) throw new Error('no second start');
    await agent.report(seen.running(next));
    const reading = read(open(one, 'tail=3&follow=false'));
    const log = await agent.log(one.service);
    expect(log.opened).toMatchObject({ generation: 2, tail: 3 });
    await log.write('ab', 100);
    await agent.close();
    agent = await join({ inventory: assigned.map((each) => seen.running(each === one ? next : each)) });
    const again = await agent.log(one.service);
    expect(again.opened).toMatchObject({ generation: 2, offset: 102 });
    expect(again.opened).not.toHaveProperty('tail');
    await again.write('c');
    again.end();
    expect((await reading).text).toBe('abc');
  });

  test.each(['0', '10001', '-1', 'x', ''])('H501: tail=%s is refused with its bounds', async (tail) => {
    agent = await join();
    const path = `/native/api/0.7/execution/${await api.submit()}/logs?from=1.1.0&tail=${tail}`;
    const refused = await api.http.get(path);
    expect(refused.status).toBe(400);
    expect(refused.text).toContain('from 1 to 10000');
  });

  test('H502: with follow=false the log of a host that is not connected is not waited for', async () => {
    agent = await join();
    const one = await running();
    await agent.close();
    const { notes } = await read(open(one, 'follow=false'));
    expect(notes).toEqual([{ trouble: expect.stringContaining('not connected') }]);
  });
});
