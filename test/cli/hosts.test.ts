import { expect, onTestFinished, test } from 'vitest';
import { registeredHost, ScriptedAgent } from '../support/agents/scripted-agent.ts';
import { ApiClient } from '../support/clients/api-client.ts';
import { adminLine } from '../support/clients/command-line.ts';
import { HostClient } from '../support/clients/host-client.ts';
import { application, service } from '../support/fixtures/descriptions.ts';
import { onEach, onHosts } from '../support/hosts/hosts.ts';

const GIB = 1024 ** 3;
let names = 0;

onHosts(onEach('B', 'A'), (host) => {
  const api = new ApiClient(host);
  const hosts = new HostClient(api.http);
  const berth = adminLine(host);
  const outOf = (...words: string[]) => berth.outOf(words);
  /** A connected host for this test only: only services with its name as a label go there. */
  const ownHost = async () => {
    const name = `line-${++names}`;
    const facts = { name, cores: 4, memoryBytes: 8 * GIB, labels: [name] };
    const agent = await ScriptedAgent.join(host(), { facts });
    onTestFinished(() => agent.close());
    return { agent, name, id: (await hosts.named(name)).id };
  };
  const runOn = async (agent: ScriptedAgent, label: string) => {
    const id = await api.submit(application(service({ labels: [label] })));
    await agent.runs(id);
    return id;
  };

  test('L30: host ls lists the hosts: a table, ids, or the answers of the API as one array', async () => {
    const [first, second] = [await ownHost(), await ownHost()];
    const ids = (await outOf('host', 'ls', '-q')).split('\n').map(Number);
    expect(ids).toEqual(expect.arrayContaining([first.id, second.id]));
    expect(await berth.json(['host', 'ls'])).toContainEqual(
      expect.objectContaining({ name: first.name, memory_total: 8 * GIB }),
    );
    const table = await outOf('host', 'ls');
    expect(table.split('\n')[0]?.split(/ +/)).toEqual([
      ...['ID', 'NAME', 'STATE', 'CONTAINERS', 'MEMORY', 'CORES', 'LABELS'],
    ]);
    expect(table).toMatch(
      new RegExp(`\n${second.id} +${second.name} +ready +0 +0 bytes of 8\\.0 GiB +0 of 4 +${second.name}\n`),
    );
  });

  test('L30: host get shows one host, by id or name, with its services and its conditions', async () => {
    const { agent, name, id } = await ownHost();
    const execution = await runOn(agent, name);
    await agent.reportConditions({ kind: 'disk', text: 'The disk is\u202e low.' });
    const text = await outOf('host', 'get', name);
    expect(text).toMatch(new RegExp(`^Host +${id} +${name}\nState +\\w+\n`));
    expect(text).toContain('disk: The disk is  low.\n');
    expect(text).toMatch(new RegExp(`\n\\d+ +main0 +${execution} +essential +active +started\n$`));
    expect(await berth.json(['host', 'get', String(id)])).toEqual({
      ...(await hosts.read(id)),
      last_contact: expect.any(Number),
    });
    await api.remove(execution);
  });

  test('L31, L150: hosts are drained, resumed and removed by id or name; all are tried, and those that were done are printed', async () => {
    const [first, second] = [await ownHost(), await ownHost()];
    const drained = await berth.run(['host', 'drain', first.name, 'nobody', String(second.id)]);
    expect([drained.code, drained.out]).toEqual([125, `${first.name}\n${second.id}\n`]);
    expect(drained.err).toBe('nobody: There is no host nobody; berth host ls lists them.\n1 of 3 failed.\n');
    for (const { id } of [first, second]) expect((await hosts.read(id)).state).toBe('drained');
    expect(await outOf('host', 'resume', first.name)).toBe(`${first.name}\n`);
    expect((await hosts.read(first.id)).state).toBe('ready');
    expect(await berth.json(['host', 'resume', first.name, String(second.id)])).toEqual([
      { id: first.id },
      { id: second.id },
    ]);
    expect(await outOf('host', 'resume', first.name, '-q')).toBe(`${first.id}\n`);
    expect(await outOf('host', 'rm', first.name, second.name)).toBe(`${first.name}\n${second.name}\n`);
    const gone = `There is no such host: ${first.id}. berth host ls lists them.\n`;
    expect(await berth.refusal(['host', 'get', String(first.id)])).toBe(gone);
  });

  test('L31: essential services stay on a drained host, unless it is drained by force', async () => {
    const { agent, name, id } = await ownHost();
    const execution = await runOn(agent, name);
    expect(await outOf('host', 'drain', name)).toBe(`${name}\n`);
    expect((await hosts.read(id)).state).toBe('draining');
    expect(await outOf('host', 'drain', name, '--force')).toBe(`${name}\n`);
    await agent.released(execution);
    await api.remove(execution);
  });

  test('L31: a disconnected host is removed by force only, and the words say what happens to its executions', async () => {
    const { agent, name } = await ownHost();
    const execution = await runOn(agent, name);
    await agent.close();
    await berth.refusal(['host', 'rm', name]);
    const { code, out, err } = await berth.run(['host', 'rm', name, '--force']);
    expect([code, out]).toEqual([0, `${name}\n`]);
    expect(err).toContain('A container may still run there.');
    expect(err).toContain(`These executions are in the queue again: ${execution}\n`);
    await api.remove(execution);
  });

  test('L32, H600: host token prints the command for a new host, and its words say how long it is valid', async () => {
    const name = `line-${++names}`;
    const { code, out, err } = await berth.run(['host', 'token', '--name', name, '--labels', 'gpu,ssd']);
    expect(code).toBe(0);
    expect(out).toMatch(/^curl .+ BERTH_JOIN_TOKEN=\S+ BERTH_AGENT_NAME=line-\d+ sh\n$/);
    expect(err).toMatch(
      /^Run this as root on the new host\. It is for one host, and valid until \S+\.\nThe command uses http:\S+, an address that only this machine reaches: .*BERTH_PUBLIC_URL to it\.\n$/,
    );
    const token = await outOf('host', 'token', '--name', name, '--labels', 'gpu,ssd', '-q');
    await registeredHost(host(), name, token.trim());
    await (await ScriptedAgent.join(host(), { facts: { name } })).close();
    expect((await hosts.named(name)).admin_labels).toEqual(['gpu', 'ssd']);
    const answer = { token: expect.any(String), expires_at: expect.any(Number) };
    expect(await berth.json(['host', 'token'])).toMatchObject(answer);
  });
});
