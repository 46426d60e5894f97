/** The client as programs use it, with an agent that does what the test prescribes. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { Berth, BerthError, type LogLine } from '../../../client/berth.ts';
import { ScriptedAgent, seen } from '../../support/agents/scripted-agent.ts';
import { ApiClient } from '../../support/clients/api-client.ts';
import { FrailLine } from '../../support/clients/frail-line.ts';
import { application, service } from '../../support/fixtures/descriptions.ts';
import { ADMIN_PASSWORD, onEach, onHosts } from '../../support/hosts/hosts.ts';
import { eventually } from '../../support/tools/eventually.ts';

const ONE = application(service());
const TWO = application(service(), service({ name: 'worker', monitor: false }));

onHosts(onEach('A', 'B'), (host) => {
  const api = new ApiClient(host);
  const credentials = { username: 'admin', password: ADMIN_PASSWORD };
  let line: FrailLine;
  let berth: Berth;
  let agent: ScriptedAgent;
  beforeAll(async () => {
    line = await FrailLine.to(host().url());
    berth = new Berth(line.url, credentials);
  });
  afterAll(() => line.close());
  beforeEach(async () => {
    agent = await ScriptedAgent.join(host());
  });
  afterEach(() => agent.close());

  const end = async (id: number) => {
    const one = await agent.runs(id);
    await agent.report(seen.exited(one, 0));
    await agent.released(id);
    await agent.report(seen.gone(one));
  };

  test('L82: wait resolves to the execution once it has ended, through broken connections', async () => {
    const id = await berth.submit('waited', ONE);
    const troubles: string[] = [];
    const waited = berth.wait(id, { trouble: (message) => troubles.push(message) });
    line.answersToLose = 2;
    await eventually(() => troubles.length >= 2);
    await end(id);
    expect(await waited).toMatchObject({ id, name: 'waited', status: 'terminated' });
    expect(troubles[0]).toContain("can't be reached");
  });

  test('L82, H818: wait throws what Berth refuses', async () => {
    const error = await berth.wait(1_000_000).catch((cause: unknown) => cause);
    expect(error).toBeInstanceOf(BerthError);
    expect(error).toMatchObject({ status: 404, code: 'not-found', problems: [] });
  });

  test('L83: logs yields whole lines with the name of their service, through a broken connection', async () => {
    const id = await api.submit(TWO);
    const [main, worker] = await agent.assigned(id, 2);
    if (!main || !worker) throw new Error('nothing is assigned');
    await agent.report(seen.running(main), seen.running(worker));
    const lines: LogLine[] = [];
    const read = (async () => {
      for await (const one of berth.logs(id)) lines.push(one);
    })();
    await (await agent.log(main.service)).write('one\ntw');
    await eventually(() => lines.length === 1);
    line.break();
    const again = await agent.log(main.service, 1);
    expect(again.opened.offset).toBe('one\ntw'.length);
    await again.write('o\nthree');
    await (await agent.log(worker.service, 1)).write('é\n');
    await agent.report(seen.exited(main, 0), seen.exited(worker, 143));
    for (const log of agent.logs) log.end();
    await read;
    expect(lines.filter((one) => one.service === main.instance).map(({ text }) => text)).toEqual([
      'one',
      'two',
      'three',
    ]);
    expect(lines.filter((one) => one.service === worker.instance)).toEqual([
      { service: worker.instance, text: 'é' },
    ]);
  });

  test('L83: logs demands a choice of more than 16 services, and names the services that there are', async () => {
    const id = await api.submit(application(service({ total_count: 17, essential_count: 1 })));
    const read = async (services?: string[]) => {
      for await (const _ of berth.logs(id, { services }));
    };
    await expect(read()).rejects.toThrow(/At most 16 services.*choose some of main0, main1, .* by name/);
    await expect(read(['other'])).rejects.toThrow(`Execution ${id} has no service other; it has main0,`);
    await api.remove(id);
  });

  describe('aborts', () => {
    const follow: Record<string, (id: number, signal: AbortSignal) => Promise<unknown>> = {
      wait: (id, signal) => berth.wait(id, { signal }),
      logs: (id, signal) => all(berth.logs(id, { signal })),
      events: (_, signal) => all(berth.events({ signal })),
      watch: (id, signal) => all(berth.watch(id, { signal })),
    };
    const all = async (items: AsyncIterable<unknown>) => {
      for await (const _ of items);
    };

    test.each(Object.keys(follow))(
      'L84: of %s throws the reason, and the execution goes on',
      async (name) => {
        const id = await api.submit(ONE);
        await agent.runs(id);
        for (const isBegun of [false, true]) {
          const abort = new AbortController();
          const reason = new Error('enough');
          if (!isBegun) abort.abort(reason);
          const ended = follow[name]?.(id, abort.signal);
          if (isBegun) {
            if (name === 'logs') await agent.log((await api.execution(id)).services[0] ?? 0);
            else await berth.info();
            abort.abort(reason);
          }
          await expect(ended).rejects.toBe(reason);
        }
        expect((await api.execution(id)).status).toBe('running');
        await api.remove(id);
      },
    );
  });

  test('L80: fromEnvironment names the setting that is missing', () => {
    const url = 'https://berth.example.org';
    expect(() => Berth.fromEnvironment({})).toThrow('BERTH_URL is not set');
    expect(() => Berth.fromEnvironment({ BERTH_URL: url })).toThrow('BERTH_TOKEN is not set');
    expect(Berth.fromEnvironment({ BERTH_URL: url, BERTH_TOKEN: 'x' })).toBeInstanceOf(Berth);
  });
});
