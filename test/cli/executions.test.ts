import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Assignment } from '../../shared/protocol/assignment.ts';
import { ScriptedAgent, seen } from '../support/agents/scripted-agent.ts';
import { ApiClient } from '../support/clients/api-client.ts';
import { adminLine, CommandLine } from '../support/clients/command-line.ts';
import { application, service } from '../support/fixtures/descriptions.ts';
import { addUser } from '../support/fixtures/users.ts';
import { onEach, onHosts } from '../support/hosts/hosts.ts';

const ONE = JSON.stringify(application(service()));
const WAITS = JSON.stringify(application(service({ labels: ['nowhere'] })));
onHosts(onEach('B', 'A'), (host) => {
  const api = new ApiClient(host);
  const berth = adminLine(host);
  let agent: ScriptedAgent | undefined;
  beforeEach(async () => {
    agent = undefined;
    for (const id of Object.keys(await api.executions())) await api.remove(Number(id));
  });
  afterEach(() => agent?.close());

  const outOf = (words: readonly string[], input?: string) => berth.outOf(words, input);
  const submit = async (description = ONE, ...options: string[]) =>
    Number(await outOf(['run', '-', ...options], description));
  const running = async (id: number, count = 1): Promise<Assignment[]> => {
    agent = await ScriptedAgent.join(host());
    const assigned = await agent.assigned(id, count);
    await agent.report(...assigned.map(seen.running));
    return assigned;
  };

  test('L20: run submits the description of a file or of standard input, and prints the id alone', async () => {
    const file = join(berth.home, 'app.json');
    await writeFile(file, ONE);
    const [first, second] = [await outOf(['run', file, '--name', 'mine']), await outOf(['run', '-'], ONE)];
    expect((await api.execution(Number(first))).name).toBe('mine');
    expect((await api.execution(Number(second))).name).toBe('test-application');
    expect(first).toBe(`${Number(first)}\n`);
    expect(await berth.json(['run', '-'], ONE)).toEqual({ execution_id: Number(second) + 1 });
  });

  test('L1, L20, L143: ps lists the newest first with the first reason to wait: a table, ids, or the answers of the API as one array', async () => {
    const ids = [await submit(), await submit(ONE, '--name', 'other'), await submit()].reverse();
    expect(await outOf(['ps', '-q'])).toBe(ids.map((id) => `${id}\n`).join(''));
    expect(await outOf(['ps', '-q', '-n', '1'])).toBe(`${ids[0]}\n`);
    expect(await outOf(['ps', '-q', '--name', 'other'])).toBe(`${ids[1]}\n`);
    expect(await outOf(['ps', '-q', '--status', 'running'])).toBe('');
    const listed: { id: number }[] = await berth.json(['ps']);
    expect(listed.map(({ id }) => id)).toEqual(ids);
    const { waiting_for } = await api.explain(ids[1] ?? 0);
    expect(listed[1]).toMatchObject({ waiting_for });
    const [head = '', ...rows] = (await outOf(['ps'])).split('\n');
    expect(head.split(/ +/)).toEqual(['ID', 'STATUS', 'SUBMITTED', 'NAME', 'ERROR', 'WAITS', 'FOR']);
    expect(waiting_for[0]).toContain('The cluster has no host');
    expect(rows[1]).toMatch(new RegExp(`^${ids[1]} +queued +\\d+s ago +other +${waiting_for[0]}`));
  });

  test('L20: get shows an execution with its services', async () => {
    const id = await submit();
    await running(id);
    const text = await outOf(['get', String(id)]);
    expect(text).toMatch(new RegExp(`^Execution +${id} +test-application\nStatus +running\n`));
    expect(text).toMatch(/\nSERVICE +NAME +STATUS +CONTAINER +ADDRESS +DETAIL\n\d+ +main0? +active +started/);
    const { services } = await berth.json(['get', String(id)]);
    expect(services).toEqual([expect.objectContaining({ execution_id: id, status: 'active' })]);
  });

  test('L20: explain says why an execution waits, or what would become of a description', async () => {
    const id = await submit();
    const { summary } = await api.explain(id);
    expect(await outOf(['explain', String(id)])).toMatch(new RegExp(`^${summary}\n`));
    expect(await berth.json(['explain', String(id)])).toMatchObject({ summary });
    const before = Object.keys(await api.executions());
    expect(await outOf(['explain', '-'], ONE)).not.toBe('');
    expect(Object.keys(await api.executions())).toEqual(before);
  });

  test('L20: endpoints are shown by name with their URL', async () => {
    const port = { name: 'Page', port_number: 80, url_template: 'http://{ip_port}/' };
    const ports = [{ ...port, protocol: 'tcp' as const }];
    const id = await submit(JSON.stringify(application(service({ ports }))));
    await running(id);
    const [[name, url] = []] = await api.endpoints(id);
    expect(await outOf(['endpoints', String(id), '-q'])).toBe(`${url}\n`);
    expect(await outOf(['endpoints', String(id)])).toMatch(new RegExp(`^ENDPOINT +URL\n${name} +http:`));
  });

  test('L65, L66: run takes a time limit with a unit, get shows it, and limit changes and removes it', async () => {
    const id = await submit(WAITS, '--time-limit', '90m');
    expect(await outOf(['get', String(id)])).toContain('Time limit  90m from its placement on\n');
    const limit = async () => (await berth.json(['get', String(id)])).time_limit;
    expect(await limit()).toBe(5_400);
    expect(await outOf(['limit', String(id), '2d'])).toBe('');
    expect(await limit()).toBe(172_800);
    await outOf(['limit', String(id), 'none']);
    expect(await limit()).toBeNull();
    expect(await berth.refusal(['limit', String(id), '5 weeks'])).toContain('5 weeks is not a time');
  });

  test('L21, L227: stop and rm try all ids, print those that were done, also those that had ended, and fail if one failed', async () => {
    const [first, second] = [await submit(), await submit()];
    const stopped = await berth.run(['stop', String(first), '999999', String(second)]);
    expect([stopped.code, stopped.out]).toEqual([125, `${first}\n${second}\n`]);
    expect(stopped.err).toMatch(/^999999: .+\n1 of 3 failed\.\n$/);
    await Promise.all([first, second].map((id) => api.waitFor(id, 'terminated')));
    expect(await outOf(['stop', String(first)])).toBe(`${first}\n`);
    expect(await outOf(['rm', String(first), String(second)])).toBe(`${first}\n${second}\n`);
    expect(await api.executions()).toEqual({});
    expect((await berth.run(['rm', 'x'])).err).toContain('x is not a positive integer');
  });

  test('L150: what has changed things is JSON with --json, and ids with -q', async () => {
    const [first, second] = [await submit(WAITS), Number(await outOf(['run', '-', '-q'], WAITS))];
    const limited = { id: first, time_limit: 172_800 };
    expect(await berth.json(['limit', String(first), '2d'])).toEqual(limited);
    expect(await outOf(['limit', String(first), 'none', '-q'])).toBe(`${first}\n`);
    const stopped = await berth.run(['stop', String(first), '999999', String(second), '--json']);
    expect([stopped.code, JSON.parse(stopped.out)]).toEqual([125, [{ id: first }, { id: second }]]);
    expect(await berth.json(['rm', String(first)])).toEqual([{ id: first }]);
    const named = ['role', 'create', '--name', 'changed'];
    const role = Number(await outOf([...named, '-q']));
    const update = ['role', 'update', 'changed', '--can-see-status', 'true'];
    expect(await berth.json(update)).toEqual({ role_id: role });
    expect(await outOf(['role', 'rm', 'changed', '-q'])).toBe(`${role}\n`);
  });

  test('L144: stop and rm take ids from standard input or by a filter, and say at the end what failed', async () => {
    const ids = [await submit(ONE, '--name', 'night'), await submit(ONE, '--name', 'night'), await submit()];
    const [first = 0, second = 0, other = 0] = ids;
    const refused: [words: string[], reason: string][] = [
      [['rm'], '--filter'],
      [['rm', '1', '--filter', 'name=night'], 'not both'],
      [['rm', '--filter', 'name'], 'name is not a filter'],
      [['rm', '--filter', 'name=night', '--filter', 'name=day'], 'twice'],
      [['rm', '--filter', 'naem=night'], 'naem'],
    ];
    for (const [words, reason] of refused) expect(await berth.refusal(words)).toContain(reason);
    const stopped = await outOf(['stop', '--filter', 'name=night', '--filter', 'status=queued']);
    expect(stopped.split('\n').sort()).toEqual(['', String(first), String(second)]);
    await api.waitFor(first, 'terminated');
    expect(await outOf(['stop', '--filter', 'name=night'])).toBe('');
    const removed = await berth.run(['rm', '-'], `999998 ${first}\n${second} ${second}\n999999\n`);
    expect([removed.code, removed.out]).toEqual([125, `${first}\n${second}\n`]);
    expect(removed.err).toMatch(/^999998: .+\n999999: .+\n2 of 4 failed\.\n$/);
    expect(Object.keys(await api.executions())).toEqual([String(other)]);
    expect(await outOf(['rm', '--filter', 'status=queued'])).toBe(`${other}\n`);
    expect(await outOf(['rm', '-'], '')).toBe('');
  });

  test('L2, L152: every problem of a description is reported with its place, also as JSON, and nothing is submitted', async () => {
    const described = JSON.stringify({ ...application(service({ image: '' })), size: -1 });
    for (const command of ['validate', 'run']) {
      const err = await berth.refusal([command, '-'], described);
      expect(err).toContain('\n  /services/0/image: ');
      expect(err).toContain('\n  /size: ');
    }
    const { code, out } = await berth.run(['validate', '-', '--json'], described);
    expect([code, JSON.parse(out)]).toMatchObject([125, { valid: false, problems: [{}, {}] }]);
    for (const pointer of ['/services/0/image', '/size'])
      expect(JSON.parse(out).problems).toContainEqual({ pointer, message: expect.any(String) });
    expect(await api.executions()).toEqual({});
    expect((await berth.run(['validate', '-'], ONE)).err).toBe('The standard input is valid.\n');
    expect(await berth.json(['validate', '-'], ONE)).toEqual({ valid: true, problems: [] });
  });

  test('L2: a file that can not be read or is none says so, and unknown words suggest those that were meant', async () => {
    expect((await berth.run(['run', join(berth.home, 'none.json')])).err).toContain('no such file');
    expect((await berth.run(['run', '-'], '{')).err).toContain('The standard input is not JSON');
    expect((await berth.run(['run', '-'], '[]')).err).toContain('it has no name');
    for (const words of [['pss'], ['ps', '--statsu', 'running']])
      expect(await berth.refusal(words)).toMatch(/Did you mean (ps|--status)\?/);
    expect((await berth.run(['drain', 'node1'])).err).toContain('There is berth host drain.\n');
    const none = 'There is no such execution: 999999. berth ps lists those that you may see.\n';
    for (const words of ['get 999999', 'stop 999999', 'explain 999999', 'logs 999999/web0'])
      expect((await berth.run(words.split(' '))).err).toBe(none);
    expect((await berth.run(['rm', '999999', '999998'])).err).toContain(
      '999998: There is no such execution: 999998.',
    );
  });

  test('L226: a text that is not JSON has the place of its fault, and an unknown key is one problem', async () => {
    const { err } = await berth.run(['run', '-'], '{\n  "name": "x"\n  "size": 1\n}');
    expect(err).toBe('The standard input is not JSON:\n  line 3, column 3: missing comma before this\n');
    const { image, ...rest } = service();
    const described = { ...application({ ...rest, imagee: image } as never), nmae: 'x' };
    for (const command of ['validate', 'run']) {
      const { err: words } = await berth.run([command, '-'], JSON.stringify(described));
      expect(words.split('\n').sort()).toEqual([
        '',
        '  /nmae: is not a known key',
        '  /services/0/imagee: is not a known key: did you mean image, which is missing?',
        'The application description is not valid:',
      ]);
    }
    const { out } = await berth.run(['validate', '-', '--json'], JSON.stringify(described));
    expect((JSON.parse(out) as { problems: object[] }).problems).toHaveLength(3);
  });

  test('L226: a control plane that is away, a wrong name and a wrong token are named with the way out', async () => {
    const away = new CommandLine(berth.home, { BERTH_URL: 'http://127.0.0.1:9', BERTH_TOKEN: 'x' });
    expect((await away.run(['ps'])).err).toMatch(
      /^http:\/\/127.0.0.1:9 can't be reached: .+\n.*berth server .*berth context ls/,
    );
    const meant = /There is no user admn; .* Did you mean admin\?/;
    expect(await berth.refusal(['user', 'get', 'admn'])).toMatch(meant);
    const noRole = 'There is no such role: 999999. berth role ls lists them.\n';
    expect(await berth.refusal(['role', 'get', '999999'])).toBe(noRole);
    const wrong = await new CommandLine(berth.home, { BERTH_TOKEN: 'not-a-token' }).run(['ps']);
    expect(wrong.err).toMatch(/refuses the token in BERTH_TOKEN: .+\n.*berth token create/);
  });

  test('L227: get takes one service or group, and other names of commands work', async () => {
    const described = application(service(), service({ name: 'side', monitor: false }));
    const id = await submit(JSON.stringify(described));
    for (const place of ['side', 'side0']) {
      expect(await outOf(['get', `${id}/${place}`])).toContain('side0');
      expect(await outOf(['get', `${id}/${place}`])).not.toContain('web0');
      const { services } = await berth.json(['get', `${id}/${place}`]);
      expect(services).toMatchObject([{ name: 'side0' }]);
    }
    expect((await berth.run(['get', `${id}/none`])).err).toMatch(/has no service none; it has .*side0/);
    for (const words of [['list'], ['ls']]) expect(await outOf([...words, '-q'])).toContain(String(id));
    for (const words of ['hosts ls', 'users ls', 'contexts ls', 'log --help'])
      expect((await berth.run(words.split(' '))).code).toBe(0);
  });

  test('L227: lists show names of owners, roles and quotas, and explain says each sentence once', async () => {
    await addUser(host(), 'carol', 'secret words', 'user');
    const carol = new CommandLine();
    await carol.logIn(host().url(), 'secret words', 'carol');
    const id = Number(await carol.outOf(['run', '-'], WAITS));
    expect(await outOf(['ps'])).toMatch(/^ID +STATUS +SUBMITTED +OWNER[\s\S]*\bcarol\b/);
    expect(await carol.outOf(['ps'])).not.toContain('OWNER');
    expect(await outOf(['user', 'ls', '--username', 'carol'])).toMatch(
      /^ID +NAME +EMAIL +ROLE +QUOTA .*\n.*carol .*\buser\b/,
    );
    const lines = (await outOf(['explain', String(id)])).trimEnd().split('\n');
    const sentences = lines.map((line) => line.replace(/^- /, '').replace(/\.$/, ''));
    expect(new Set(sentences).size).toBe(sentences.length);
  });

  test('L1: version names both sides, and words go to standard error', async () => {
    const [own] = (await outOf(['version'])).match(/^client \S+\nserver \S+ \(test, API 0\.7\)\n$/) ?? [];
    expect(own).toBeDefined();
    const { client, server } = await berth.json(['version']);
    expect(server).toMatchObject({ version: client });
    const help = await berth.run(['--help']);
    expect([help.code, help.err]).toEqual([0, '']);
    expect((await berth.run(['nonsense'])).out).toBe('');
  });
});
