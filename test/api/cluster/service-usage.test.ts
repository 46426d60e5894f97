import { beforeEach, expect, test } from 'vitest';
import type { Assignment } from '../../../shared/protocol/assignment.ts';
import { ScriptedAgent, seen } from '../../support/agents/scripted-agent.ts';
import { ApiClient } from '../../support/clients/api-client.ts';
import { expectAnswer } from '../../support/clients/http-client.ts';
import { WebClient } from '../../support/clients/web-client.ts';
import { application, service } from '../../support/fixtures/descriptions.ts';
import { addUser } from '../../support/fixtures/users.ts';
import { hosts, onHosts } from '../../support/hosts/hosts.ts';
import { eventually } from '../../support/tools/eventually.ts';

const LINES = '1000000\n1030000 1048576 0.5\n1060500 2097152 1.25\n';
const SAMPLES = [
  { time: 1_030, memory: 2 ** 20, cores: 0.5 },
  { time: 1_060.5, memory: 2 ** 21, cores: 1.25 },
];

onHosts(hosts, (host) => {
  const api = new ApiClient(host);
  let agent: ScriptedAgent;
  let tests = 0;
  // A separate host for each test.
  beforeEach(async () => {
    agent = await ScriptedAgent.join(host(), { facts: { name: `host${++tests}` } });
    return () => agent.close();
  });

  const running = async () => agent.runs(await api.submit());
  const read = (service: number) => api.http.get(`/native/api/0.7/service/${service}/usage`);
  /** The answer, with these lines from the agent. */
  const readWith = async ({ service }: Assignment, lines: string) => {
    const reading = read(service);
    const log = await agent.log(service, agent.logs.length);
    await log.write(lines);
    log.end();
    return reading;
  };

  test('H608: the usage of a service comes from the host of its last start, in seconds, bytes and cores', async () => {
    const one = await running();
    const reply = await readWith(one, LINES);
    expect(reply.status).toBe(200);
    expect(reply.json()).toEqual({
      start: 1_000,
      samples: SAMPLES,
      reserved: { memory: expect.any(Number), cores: expect.any(Number) },
    });
    expect(agent.logs[0]?.opened).toMatchObject({ generation: 1, format: 'usage', follow: false });
    await agent.report(seen.exited(one, 0));
    expect((await readWith(one, LINES)).json()).toMatchObject({ start: 1_000, samples: SAMPLES });
  });

  test('H609: without samples, and before the first start, the start is null', async () => {
    const { service: id } = await running();
    const reading = read(id);
    (await agent.log(id)).missing();
    expect((await reading).json()).toMatchObject({ start: null, samples: [] });
    const execution = await api.submit(application(service({ labels: ['nowhere'] })));
    const [waiting = 0] = (await api.execution(execution)).services;
    expect((await read(waiting)).json()).toMatchObject({ start: null, samples: [] });
  });

  test('H610: a host that is not connected, or that sends something else, is unavailable', async () => {
    const one = await running();
    await expectAnswer(readWith(one, '1000\n999 1 1\n'), 503, 'invalid usage');
    await expectAnswer(readWith(one, '1'.repeat(20_000)), 503, 'invalid usage');
    const reading = read(one.service);
    (await agent.log(one.service, agent.logs.length)).fail('no memory left');
    await expectAnswer(reading, 503, 'no memory left');
    await agent.close();
    await expectAnswer(read(one.service), 503, 'not connected');
  });

  test('W181: the page has the numbers, the samples and a table of each service, without script', async () => {
    const one = await running();
    const path = `/executions/${one.execution}/usage`;
    const web = await WebClient.logIn(host);
    const visit = async (lines?: string) => {
      const visiting = web.get(path);
      const log = await agent.log(one.service, agent.logs.length);
      if (lines === undefined) log.missing();
      else {
        await log.write(lines);
        log.end();
      }
      return (await visiting).text;
    };
    const text = await visit(LINES);
    expect(text).toContain('2.0 MiB now, 2.0 MiB at most');
    expect(text).toContain('1.25 now, 0.878 on average');
    const samples = JSON.parse(/data-samples="([^"]*)"/.exec(text)?.[1] ?? '') as number[][];
    expect(samples.map(([time, , memory, , , cores]) => [time, memory, cores])).toEqual([
      [1_000, 2 ** 20, 0.5],
      [1_030, 2 ** 21, 1.25],
      [1_061, 2 ** 21, 1.25],
    ]);
    expect(text.match(/<th scope="row">/g)).toHaveLength(2);
    expect(await visit()).toContain('There are no samples');
    expect((await web.get(`${path}?service=999999`)).status).toBe(404);
    expect((await web.get(`/executions/${one.execution}`)).text).toContain(`href="${path}"`);
    await agent.close();
    expect((await web.get(path)).text).toContain('not connected');
  });

  test('W182: of many services the page shows 16, and a host that fails hides no other', async () => {
    const many = service({ name: 'many', total_count: 17, essential_count: 17 });
    const all = await agent.assigned(await api.submit(application(many)), 17);
    await agent.report(...all.map(seen.running));
    const visiting = (await WebClient.logIn(host)).get(`/executions/${all[0]?.execution}/usage`);
    const wanted = await eventually(() => agent.logs.length === 16 && [...agent.logs]);
    for (const [at, log] of wanted.entries()) {
      if (at === 3) log.fail('no memory left');
      else {
        await log.write(LINES);
        log.end();
      }
    }
    const { text } = await visiting;
    expect(text.match(/2\.0 MiB now/g)).toHaveLength(15);
    expect(text.match(/no memory left/g)).toHaveLength(1);
    expect(text).toContain('First 16 of 17');
  });

  test("H608: another user's usage is not found, and there is none without credentials or outside Berth's own path", async () => {
    expect((await read(999_999)).status).toBe(404);
    const { service: id } = await running();
    await addUser(host(), 'curious', 'secret words', 'user');
    const curious = new ApiClient(host, 'curious', 'secret words');
    expect((await curious.http.get(`/native/api/0.7/service/${id}/usage`)).status).toBe(404);
    expect((await fetch(`${host().url()}/native/api/0.7/service/${id}/usage`)).status).toBe(401);
    expect((await api.http.get(`service/${id}/usage`)).status).toBe(404);
  });
});
