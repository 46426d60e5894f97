import { afterEach, expect, test } from 'vitest';
import type { Up } from '../../../shared/protocol/up.ts';
import { PROTOCOL_VERSION } from '../../../shared/protocol/version.ts';
import {
  type AgentOptions,
  hello,
  proofFor,
  ScriptedAgent,
  seen,
} from '../../support/agents/scripted-agent.ts';
import { ApiClient } from '../../support/clients/api-client.ts';
import { application, service } from '../../support/fixtures/descriptions.ts';
import { eitherGroup, onHosts, queuedIn } from '../../support/hosts/hosts.ts';
import { eventually } from '../../support/tools/eventually.ts';

/** Enough for a longer time, and as many as a page or two of logs take. */
const READERS = 25;

onHosts(eitherGroup, (host, { variant }) => {
  const api = new ApiClient(host);
  const agents: ScriptedAgent[] = [];
  let tests = 0;

  afterEach(async () => {
    for (const agent of agents.splice(0)) if (agent.closeCode === undefined) await agent.close();
    tests += 1;
  });

  /** A host for this test only, so that services of earlier tests are elsewhere. */
  const facts = (options: AgentOptions['facts'] = {}) => ({
    name: `host${tests}`,
    labels: [`test${tests}`],
    ...options,
  });
  const join = async (options: AgentOptions = {}): Promise<ScriptedAgent> => {
    const agent = await ScriptedAgent.join(host(), { ...options, facts: facts(options.facts) });
    agents.push(agent);
    return agent;
  };
  const dial = async (): Promise<ScriptedAgent> => {
    const agent = await ScriptedAgent.dial(host(), await proofFor(host()));
    agents.push(agent);
    return agent;
  };
  const submit = (count = 1) =>
    api.submit(
      application(service({ total_count: count, essential_count: count, labels: [`test${tests}`] })),
    );

  test.each([
    undefined,
    'Bearer wrong-token-of-some-length',
    'Bearer',
    `Basic ${btoa('admin:correct: horse')}`,
  ])('P1: the credentials %s are refused with 401', async (authorization) => {
    await expect(ScriptedAgent.dial(host(), authorization)).rejects.toThrow('401');
  });

  test.each<[string, object]>([
    ['another version', { version: PROTOCOL_VERSION + 1 }],
    ['another hash', { hash: 'another' }],
    ['no hash, and nothing else that this version would read', { version: 9, hash: undefined, host: 'one' }],
  ])('P2: a hello with %s closes with 4426, and states both protocols and the remedy', async (_, changes) => {
    const agent = await dial();
    agent.send({ ...hello(host()), ...changes } as Up);
    expect(await agent.closed()).toBe(4426);
    expect(agent.closeReason).toMatch(
      /the agent speaks protocol .*, the control plane 1-[0-9a-f]{16}: install its agent/,
    );
  });

  test("P2: a hello of another deployment's agent closes with 4404", async () => {
    const agent = await dial();
    agent.send({ ...hello(host()), deployment: 'another' });
    expect(await agent.closed()).toBe(4404);
    expect(agent.messages).toEqual([]);
  });

  test('P3: welcome comes first, then sync', async () => {
    const agent = await join();
    expect(agent.messages).toMatchObject([
      { type: 'welcome', version: PROTOCOL_VERSION, reportPeriodMs: 10_000 },
      { type: 'sync', assignments: [], more: false },
    ]);
  });

  test('P3: a sync of many assignments comes in parts and omits none', async () => {
    const first = await join();
    const id = await submit(250);
    const assigned = await first.assigned(id, 250);
    await first.close();
    const again = await join({ inventory: assigned.map(seen.running) });
    const parts = again.all('sync');
    expect(parts.map(({ more }) => more)).toEqual([true, true, false]);
    expect(new Set(parts.map(({ revision }) => revision)).size).toBe(1);
    const services = parts.flatMap(({ assignments }) => assignments.map((one) => one.service));
    expect(services.toSorted()).toEqual(assigned.map((one) => one.service).toSorted());
    expect((await api.execution(id)).status).toBe('running');
  });

  test('P4: start and stop carry revisions without a gap', async () => {
    const agent = await join();
    const ids = [await submit(), await submit(3)];
    for (const id of ids) {
      await agent.assigned(id);
      await api.terminate(id);
      await agent.released(id);
    }
    const revisions = agent.messages.flatMap((message) => ('revision' in message ? [message.revision] : []));
    expect(revisions).toHaveLength(9);
    expect(revisions).toEqual(revisions.map((_, at) => (revisions[0] ?? 0) + at));
  });

  test('P5: a running container is not started again after a reconnect', async () => {
    const first = await join();
    const id = await submit();
    const [one] = await first.assigned(id);
    if (!one) throw new Error('no assignment');
    await first.report(seen.running(one));
    await first.close();
    const again = await join({ inventory: [seen.running(one)] });
    expect([...again.assignments.values()]).toEqual([one]);
    expect((await api.execution(id)).status).toBe('running');
  });

  test('P7: an ack is sent after the observation is committed', async () => {
    const agent = await join();
    const id = await submit();
    const [one] = await agent.assigned(id);
    if (!one) throw new Error('no assignment');
    await agent.report(seen.running(one));
    const db = await host().openDb();
    const [row] = await db.query('SELECT status, backend_id FROM services WHERE id = ?', [one.service]);
    await db.close();
    expect(row).toEqual({ status: 'active', backend_id: `c${one.service}` });
  });

  test('P7, P41: an empty report is acknowledged with the time of the control plane', async () => {
    const agent = await join();
    const beforeMs = Date.now();
    await agent.report();
    expect(agent.all('ack').at(-1)?.timeMs).toBeGreaterThanOrEqual(beforeMs);
    expect(agent.all('ack').at(-1)?.timeMs).toBeLessThanOrEqual(Date.now());
  });

  test('C83, C84, P40: a host that is low on disk takes nothing until its agent reports that the condition is gone', async () => {
    const agent = await join();
    const described = application(service({ labels: [`test${tests}`] }));
    await agent.reportConditions({ kind: 'low-disk', text: '0.4 GiB free at /var/lib/docker' });
    const id = await api.submit(described);
    // A report without conditions leaves the conditions as they are.
    await agent.report();
    for (const { waiting_for } of [await api.explain(id), await api.explainSubmission(described)])
      expect(waiting_for[0]).toContain('1 low on disk (0.4 GiB free at /var/lib/docker)');
    expect((await api.execution(id)).status).toBe(queuedIn(variant));
    await agent.reportConditions();
    await agent.assigned(id);
  });

  test('P8: a start is committed before it is sent', async () => {
    const db = await host().openDb();
    const agent = await join();
    const id = await submit();
    const [one] = await agent.assigned(id);
    const [row] = await db.query('SELECT status, generation FROM services WHERE execution_id = ?', [id]);
    await db.close();
    expect(row).toEqual({ status: 'starting', generation: one?.generation });
  });

  test('P11: a newer session of the same host supersedes the older one', async () => {
    const [older, newer] = [await join(), await join()];
    expect(await older.closed()).toBe(4409);
    await newer.report();
    const id = await submit();
    await newer.assigned(id);
    expect(older.all('start')).toEqual([]);
  });

  test('P319: the lack of containers on another engine than that of the host ends nothing, and its agent is refused', async () => {
    const engine = { id: 'one@/var/lib/docker' };
    const first = await join({ engine });
    const id = await submit();
    const [one] = await first.assigned(id);
    if (!one) throw new Error('no assignment');
    await first.report(seen.running(one));
    const running = async () => expect((await api.execution(id)).status).toBe('running');
    const refused = async (options: AgentOptions) => {
      const copy = await ScriptedAgent.greet(host(), { ...options, facts: facts() });
      agents.push(copy);
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
    const line = (isSame: boolean) =>
      host()
        .output()
        .split('\n')
        .find(
          (text) =>
            text.includes('agent.second-session') &&
            text.includes(`"${facts().name}"`) &&
            text.includes(`"isSameEngine":${isSame}`),
        );
    await eventually(() => line(true));
    expect(JSON.parse(line(true)?.replace(/^[^{]*/, '') ?? '')).toMatchObject({
      present: '127.0.0.1',
      second: '127.0.0.1',
    });
    const copy = await ScriptedAgent.greet(host(), { engine: { id: 'two' }, facts: facts() });
    expect(await copy.closed()).toBe(4412);
    await eventually(() => line(false));
  });

  test("P12: a report on another host's service changes nothing and closes with 4400", async () => {
    const agent = await join();
    const stranger = await join({ facts: { name: `stranger${tests}`, labels: [] } });
    const id = await submit();
    const [one] = await agent.assigned(id);
    if (!one) throw new Error('no assignment');
    await expect(stranger.report(seen.failed(one, 'sabotage'), seen.gone(one))).rejects.toThrow('4400');
    expect(host().output()).toContain('agent.report-refused');
    expect((await api.execution(id)).status).toBe('starting');
    await agent.report(seen.running(one));
    expect((await api.execution(id)).status).toBe('running');
  });

  const report: Up = { type: 'report', sequence: 1, observations: [], forgotten: [] };
  test.each<[string, string | Uint8Array]>([
    ['a text that is not JSON', 'hello'],
    ['an unknown type', '{"type":"shutdown"}'],
    ['a message without its fields', '{"type":"report"}'],
    ['a binary frame without a header', new Uint8Array(3)],
    ['a report before hello', JSON.stringify(report)],
  ])('P2: %s closes with 4400', async (_, frame) => {
    const agent = await dial();
    agent.sendRaw(frame);
    expect(await agent.closed()).toBe(4400);
  });

  test('P2: a second hello closes with 4400', async () => {
    const agent = await join();
    agent.send(hello(host(), { facts: facts() }));
    expect(await agent.closed()).toBe(4400);
  });

  test('P2: a close by the agent is answered at once', async () => {
    const agent = await join();
    await agent.close();
    // A close without an answer ends as 1006.
    expect(agent.closeCode).toBe(1000);
  });

  test('P4: an agent that was away gets the starts that it missed with its next sync', async () => {
    await (await join()).close();
    const id = await submit();
    expect((await api.execution(id)).status).toBe(queuedIn(variant));
    const [one] = await (await join()).assigned(id);
    expect(one?.name).toBe(`main0-${id}-test`);
    await eventually(async () => (await api.execution(id)).status === 'starting');
  });

  test('P178: while many logs are read, agents collect output for longer, also those of other hosts', async () => {
    const many = `many${tests}`;
    const [agent, other] = [await join(), await join({ facts: { name: many, labels: [many] } })];
    const executions = [await submit(), await api.submit(application(service({ labels: [many] })))];
    const [one, another] = [
      await agent.assigned(executions[0] ?? 0),
      await other.assigned(executions[1] ?? 0),
    ].flat();
    if (!one || !another) throw new Error('no assignment');
    await Promise.all([agent.report(seen.running(one)), other.report(seen.running(another))]);
    const open = (id: number) => api.http.open('GET', `service/logs/${id}`);
    const responses = [open(one.service)];
    const log = await agent.log(one.service);
    expect(log.opened.collectMs).toBeUndefined();
    for (let n = 0; n < READERS; n++) {
      responses.push(open(another.service));
      await other.log(another.service, n);
    }
    expect(other.logs.at(-1)?.opened.collectMs).toBe(80);
    await eventually(async () => {
      await log.write('some output');
      return agent.all('logs.credit').some(({ collectMs }) => collectMs === 80);
    });
    for (const response of responses) response.then((stream) => stream.destroy()).catch(() => {});
  });
});
