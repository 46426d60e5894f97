import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { ScriptedAgent, seen } from '../support/agents/scripted-agent.ts';
import { ApiClient } from '../support/clients/api-client.ts';
import { CommandLine } from '../support/clients/command-line.ts';
import type { Command } from '../support/clients/commands/process.ts';
import { EventClient } from '../support/clients/event-client.ts';
import { FrailLine } from '../support/clients/frail-line.ts';
import { ADMIN_PASSWORD, hosts, onHosts, restart } from '../support/hosts/hosts.ts';
import { eventually } from '../support/tools/eventually.ts';

onHosts(hosts, (host) => {
  const api = new ApiClient(host);
  let line: FrailLine;
  let berth: CommandLine;
  beforeAll(async () => {
    line = await FrailLine.to(host().url());
    berth = new CommandLine(undefined, { BERTH_URL: line.url });
    await berth.logIn(line.url, ADMIN_PASSWORD);
    return () => line.close();
  });

  /** A command that follows events and has begun. */
  const following = async (...options: string[]): Promise<Command> => {
    const command = berth.start(['events', ...options]);
    onTestFinished(async () => {
      command.interrupt();
      await command.ended;
    });
    return command;
  };
  const followingJson = async () => {
    const command = await following('--json');
    await eventually(() => command.out() !== '');
    const lines = () => command.out().trimEnd().split('\n');
    return { ...command, events: () => lines().map((one) => JSON.parse(one)) };
  };

  test('L50: events --json prints each event of the API with its kind, one on a line', async () => {
    const { events } = await followingJson();
    const all = await EventClient.watch(api.http);
    const agent = await ScriptedAgent.join(host(), { facts: { name: 'line-events' } });
    const id = await api.submit(undefined, 'watched');
    await agent.report(...(await agent.assigned(id)).map(seen.running));
    await all.next('execution', { id, status: 'running' });
    await agent.close();
    await all.next('host', { name: 'line-events', state: 'disconnected' });
    const expected = all.received.map(({ event, data }) => ({ event, ...data }));
    await eventually(() => events().length >= expected.length);
    expect(events()).toEqual(expected);
    expect(events()[0]).toEqual({ event: 'hello' });
    await api.remove(id);
  });

  test('L3, L50: people read a line for each event, which can not act on the terminal', async () => {
    const command = await following();
    const ids: number[] = [];
    await eventually(async () => {
      ids.push(await api.submit(undefined, 'a\u202eb'));
      return command.out().includes('queued');
    });
    for (const id of ids) await api.remove(id);
    const last = `execution  ${String(ids.at(-1)).padEnd(6)}  deleted       a b\n`;
    await eventually(() => command.out().endsWith(last));
    expect(command.out()).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\S+ {2}execution {2}\d+ +queued +a b\n/);
  });

  test('L51: events go on after broken connections, and none is missing or doubled', async () => {
    const { events, err } = await followingJson();
    const ids: number[] = [];
    for (let round = 0; round < 3; round++) {
      line.break();
      for (let n = 0; n < 3; n++) {
        const id = await api.submit();
        await api.terminate(id);
        ids.push(id);
      }
      const last = ids.at(-1);
      await eventually(() => events().some(({ id, status }) => id === last && status === 'terminated'));
    }
    const statusesOf = (wanted: number) =>
      events()
        .filter(({ event, id }) => event === 'execution' && id === wanted)
        .map(({ status }) => status);
    for (const id of ids) expect(statusesOf(id)).toEqual(['queued', 'terminated']);
    expect(events().filter(({ event }) => event === 'hello')).toHaveLength(1);
    expect(err()).toContain('Berth tries again.');
    for (const id of ids) await api.remove(id);
  });

  test('L51: events go on after a restart of the control plane, and say that some may be missing', async () => {
    const { events, err } = await followingJson();
    await restart(host());
    line.lead(host().url());
    line.break();
    await eventually(() => events().some(({ event }) => event === 'reset'));
    expect(err()).toContain('Some events were missed: list what you need again.\n');
    const id = await api.submit();
    await eventually(() => events().some((one) => one.event === 'execution' && one.id === id));
    await api.remove(id);
  });

  test('L52: an error before the first event ends events with 125', async () => {
    const stranger = new CommandLine(undefined, { BERTH_URL: line.url });
    expect(await stranger.refusal(['events'])).toContain('Log in: berth login');
  });
});
