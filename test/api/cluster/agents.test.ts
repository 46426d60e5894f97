import { afterEach, expect, onTestFinished, test } from 'vitest';
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
  const dial = async () => closing(await ScriptedAgent.dial(host(), await proofFor(host())));
  const submit = (count = 1) =>
    api.submit(
      application(service({ total_count: count, essential_count: count, labels: [`test${tests}`] })),
    );

  test('P1: credentials that are no proof are refused with 401', async () => {
    const wrong = ['Bearer wrong-token-of-some-length', 'Bearer', `Basic ${btoa('admin:correct: horse')}`];
    for (const authorization of [undefined, ...wrong])
      await expect(ScriptedAgent.dial(host(), authorization)).rejects.toThrow('401');
  });

  test('P2: a hello of another protocol or deployment, and anything else before it, closes with the code and the remedy', async () => {
    for (const changes of [
      { version: PROTOCOL_VERSION + 1 },
      { hash: 'another' },
      // Nothing else that this version would read.
      { version: 9, hash: undefined, host: 'one' },
    ]) {
      const agent = await dial();
      agent.send({ ...hello(host()), ...changes } as Up);
      expect(await agent.closed()).toBe(4426);
      expect(agent.closeReason).toMatch(
        /the agent speaks protocol .*, the control plane 1-[0-9a-f]{16}: install its agent/,
      );
    }
    const report: Up = { type: 'report', sequence: 1, observations: [], forgotten: [] };
    for (const [frame, code] of [
      [JSON.stringify({ ...hello(host()), deployment: 'another' }), 4404],
      ['not JSON', 4400],
      ['{"type":"shutdown"}', 4400],
      ['{"type":"report"}', 4400],
      [new Uint8Array(3), 4400],
      [JSON.stringify(report), 4400],
    ] as const) {
      const agent = await dial();
      agent.sendRaw(frame);
      expect([await agent.closed(), agent.messages], String(frame)).toEqual([code, []]);
    }
  });

  test('P3, P5: a sync of many assignments comes in parts and omits none, and what runs is not started again', async () => {
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

  test('P178: while many logs are read, agents collect output for longer, also those of other hosts', async () => {
    const many = `many${tests}`;
    const [agent, other] = [await join(), await join({ facts: { name: many, labels: [many] } })];
    const one = await agent.runs(await submit());
    const another = await other.runs(await api.submit(application(service({ labels: [many] }))));
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
