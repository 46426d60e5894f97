import { afterAll, beforeAll, expect, test } from 'vitest';
import { ScriptedAgent } from '../support/agents/scripted-agent.ts';
import { ApiClient } from '../support/clients/api-client.ts';
import { adminLine, CommandLine } from '../support/clients/command-line.ts';
import { application, service } from '../support/fixtures/descriptions.ts';
import { addUser } from '../support/fixtures/users.ts';
import { onEach, onHosts } from '../support/hosts/hosts.ts';
import { eventually } from '../support/tools/eventually.ts';

const GIB = 2 ** 30;

onHosts(onEach('B', 'A'), (host) => {
  const api = new ApiClient(host);
  const berth = adminLine(host);
  let agent: ScriptedAgent;
  let id: number;
  beforeAll(async () => {
    agent = await ScriptedAgent.join(host());
    const resources = { memory: { min: GIB, max: 2 * GIB }, cores: { min: 0.5, max: null } };
    id = await api.submit(application(service({ resources })), 'of-the-test');
    await agent.runs(id);
  });
  afterAll(() => agent.close());

  test('L105: top shows hosts with use and reservation, and the services that run', async () => {
    const { code, out, err } = await berth.run(['top']);
    expect([code, err]).toEqual([0, '']);
    expect(out).toMatch(
      /^HOST +STATE .*\nhost1 +ready +1 +- +1\.0 GiB +64\.0 GiB +- +0\.5 +64\n\nEXECUTION /,
    );
    expect(out).toMatch(new RegExp(`\\n${id} +of-the-test +main +1 +1\\.0 GiB +0\\.5\\n$`));
    const { hosts, services } = await berth.json(['top']);
    expect(hosts).toMatchObject([{ name: 'host1', memory_reserved: GIB }]);
    const own = { execution_id: id, execution_name: 'of-the-test', name: 'main', count: 1 };
    expect(services).toEqual([{ ...own, memory_reserved: GIB, cores_reserved: 0.5 }]);
  });

  test('L131: usage shows what each service uses, and the reason where that is not known', async () => {
    const answer = async (nth: number, lines?: string) => {
      const [one] = await agent.assigned(id);
      const log = await agent.log(one?.service ?? 0, nth);
      if (!lines) return log.fail('no memory left');
      await log.write(lines);
      log.end();
    };
    const lines = `1000\n11000 ${2 * GIB} 1\n31000 ${GIB} 0.25\n`;
    const [shown] = await Promise.all([berth.run(['usage', String(id)]), answer(0, lines)]);
    expect([shown.code, shown.err]).toEqual([0, '']);
    expect(shown.out).toMatch(
      /^SERVICE +MEMORY .*\nmain0 +1\.0 GiB +2\.0 GiB +1\.0 GiB +0\.25 +0\.5 +0\.5\n$/,
    );
    const [json] = await Promise.all([berth.run(['usage', `${id}/main0`, '--json']), answer(1, lines)]);
    expect(JSON.parse(json.out)).toMatchObject([{ name: 'main0', start: 1, samples: [{ time: 11 }, {}] }]);
    const [failed] = await Promise.all([berth.run(['usage', String(id)]), answer(2)]);
    expect(failed.out).toMatch(/\nmain0 +- .*no memory left/);
  });

  test('L145: usage --host shows the last hour of a host, by name or id', async () => {
    await agent.use({ memoryBytes: 3 * GIB, cores: 0.25 });
    const { code, out, err } = await berth.run(['usage', '--host', 'host1']);
    expect([code, err]).toEqual([0, '']);
    expect(out).toMatch(/^TIME +MEMORY RESERVED +IN USE +CORES RESERVED +IN USE\n/);
    expect(out.split('\n')[1]).toMatch(/^\S+ +1\.0 GiB +3\.0 GiB +0\.5 +0\.25$/);
    const { samples } = await berth.json(['usage', '--host', '1']);
    expect(samples.at(-1)).toMatchObject({ memory_reserved: GIB, memory_used: 3 * GIB, cores_used: 0.25 });
    for (const words of [['usage'], ['usage', String(id), '--host', 'host1']])
      expect(await berth.refusal(words)).toContain('--host with a host');
  });

  test('L105: a user who may not see the hosts gets the own services alone', async () => {
    await addUser(host(), 'alice', 'secret words', 'user');
    const own = new CommandLine();
    await own.logIn(host().url(), 'secret words', 'alice');
    expect(await own.json(['top'])).toEqual({ hosts: null, services: [] });
    expect((await own.run(['top'])).out).toMatch(/^EXECUTION +NAME/);
  });

  test.each([
    ['q', 0],
    ['\u0003', 130],
  ])('L106: at a terminal top draws again in place until the key %j, and ends with %i', async (key, code) => {
    const top = berth.startOnTerminal(['top'], { columns: 100 });
    const draws = () => top.out().split('\u001b[H').length - 1;
    await eventually(() => draws() >= 2);
    expect(top.out()).toContain('of-the-test');
    top.type(key);
    expect((await top.ended).code).toBe(code);
    expect(top.out().split('\u001b[?1049l')[1]).toBe('');
  });

  test('L106: an error ends top with its cause', async () => {
    const away = new CommandLine(berth.home, { BERTH_URL: 'http://127.0.0.1:1' });
    const { code, out } = await away.onTerminal(['top']);
    expect(code).toBe(125);
    expect(out).toContain("\u001b[?1049lhttp://127.0.0.1:1 can't be reached");
  });
});
