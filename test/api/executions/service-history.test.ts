/** The history of a service: by the API, on the page and by `berth get`. */
import { expect, test } from 'vitest';
import { ScriptedAgent, seen } from '../../support/agents/scripted-agent.ts';
import { ApiClient } from '../../support/clients/api-client.ts';
import { adminLine } from '../../support/clients/command-line.ts';
import { WebClient } from '../../support/clients/web-client.ts';
import { application, service } from '../../support/fixtures/descriptions.ts';
import { hosts, onHosts } from '../../support/hosts/hosts.ts';
import { eventually } from '../../support/tools/eventually.ts';

const side = (delay: number) =>
  service({ name: 'side', monitor: false, restart: { attempts: 5, window: 3600, delay } });

onHosts(hosts, (host) => {
  const api = new ApiClient(host);
  const { http: admin } = api;
  const berth = adminLine(host);
  const native = async (id: number) => (await admin.get(`/native/api/0.7/service/${id}`)).json<object>();
  /** The text of the page, without tags. */
  const pageOf = async (id: number) => {
    const { text } = await (await WebClient.logIn(host)).get(`/executions/${id}`);
    return text.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ');
  };

  test('H431, H825, W235: a service has its last starts: host, times, exit codes, reasons, and the one that ended the execution; its own exit code is that of a last container which ended by itself', async () => {
    await using agent = await ScriptedAgent.join(host(), { facts: { name: 'historic' } });
    const id = await api.submit(application(service(), side(1)));
    const [main, first] = await agent.assigned(id, 2);
    expect(await native(first.service)).toMatchObject({
      time_restart: null,
      history: [{ start: 1, host: 'historic', time_run: null, time_end: null, exit_code: null, reason: '' }],
    });
    await agent.report(seen.running(main), seen.running(first));
    await agent.report(seen.exited(first, 137));
    await agent.report(seen.gone(first));
    const second = await eventually(() =>
      agent.known(id).find(({ service: of, generation }) => of === first.service && generation === 2),
    );
    await agent.report(seen.running(second));
    expect(await pageOf(id)).not.toContain('ended the execution');
    await agent.report(seen.exited(main, 3));
    await agent.released(id);
    await agent.report(seen.exited(second, 143), seen.gone(main), seen.gone(second));

    const ended = { host: 'historic', time_run: expect.any(Number), time_end: expect.any(Number) };
    expect(await native(first.service)).toMatchObject({
      exit_code: null,
      history: [
        { ...ended, start: 1, exit_code: 137, reason: 'exit code 137', ended_execution: false },
        { ...ended, start: 2, exit_code: 143, reason: 'exit code 143; stopped with its execution' },
      ],
    });
    expect(await native(main.service)).toMatchObject({
      exit_code: 3,
      history: [{ ...ended, start: 1, exit_code: 3, reason: 'exit code 3', ended_execution: true }],
    });
    const plain = (await admin.get(`service/${main.service}`)).json();
    for (const field of ['exit_code', 'history', 'time_restart']) expect(plain).not.toHaveProperty(field);

    const page = await pageOf(id);
    // Once beside the service, and once at its start.
    expect(page.match(/ended the execution/g)).toHaveLength(2);
    expect(page).toMatch(/side0 1 historic .* exit code 137 /);
    expect(page).toMatch(/side0 2 historic .* exit code 143; stopped with its execution/);

    const all = await berth.outOf(['get', String(id)]);
    expect(all).not.toContain('STARTED');
    const one = await berth.outOf(['get', `${id}/side0`]);
    expect(one).toMatch(
      /\nNAME +START +HOST +STARTED +RUNNING +ENDED +HOW\nside0 +1 +historic .* exit code 137\nside0 +2 +historic/,
    );
    expect(await berth.outOf(['get', `${id}/main0`])).toContain('exit code 3 (ended the execution)');
  });

  test('H825, W235: a service that waits for its restart says when that is, until its execution ends', async () => {
    await using agent = await ScriptedAgent.join(host(), { facts: { name: 'patient' } });
    const id = await api.submit(application(service(), side(300)));
    const [main, first] = await agent.assigned(id, 2);
    await agent.report(seen.running(main), seen.running(first));
    await agent.report(seen.exited(first, 1));
    await agent.report(seen.gone(first));
    const { time_restart } = (await native(first.service)) as { time_restart: number };
    expect(time_restart).toEqual(expect.any(Number));
    expect(await pageOf(id)).toMatch(/restarting in (5 min 0 s|4 min \d+ s)/);
    expect(await berth.outOf(['get', String(id)])).toMatch(/restarting in \d+[ms].*; service side0 ended/);
    await api.terminate(id);
    await agent.released(id);
    await agent.report(seen.gone(main));
    expect(await native(first.service)).toMatchObject({ time_restart: null });
    expect(await pageOf(id)).not.toContain('restarting');
  });
});
