import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ScriptedAgent, seen } from '../support/agents/scripted-agent.ts';
import { ApiClient } from '../support/clients/api-client.ts';
import { adminLine, newHome } from '../support/clients/command-line.ts';
import { application, service } from '../support/fixtures/descriptions.ts';
import { onEach, onHosts } from '../support/hosts/hosts.ts';
import { eventually } from '../support/tools/eventually.ts';

const port = (name: string, port_number: number, scheme = 'http') => ({
  ...{ name, port_number, protocol: 'tcp' as const, url_template: `${scheme}://{ip_port}/` },
});

onHosts(onEach('B', 'A'), (host) => {
  const api = new ApiClient(host);
  const home = newHome();
  const berth = adminLine(host, { DISPLAY: ':0', PATH: `${home}/bin:${process.env.PATH}` }, home);
  let agent: ScriptedAgent;
  beforeAll(async () => {
    await mkdir(join(home, 'bin'));
    const opener = `#!/bin/sh\necho "$@" >> '${home}/opened'\n`;
    await writeFile(join(home, 'bin/xdg-open'), opener, { mode: 0o755 });
    agent = await ScriptedAgent.join(host());
  });
  afterAll(() => agent.close());

  const running = async (...ports: ReturnType<typeof port>[][]): Promise<number> => {
    const services = ports.map((of, n) => service({ name: `svc${n}`, monitor: n === 0, ports: of }));
    const id = await api.submit(application(...services));
    await agent.report(...(await agent.assigned(id, ports.length)).map(seen.running));
    return id;
  };

  test('L103: open prints the URL of the only endpoint, or of the one that is named', async () => {
    const one = await running([port('Page', 80)]);
    expect(await berth.outOf(['open', String(one)])).toBe('http://192.0.2.7:30080/\n');
    const several = await running([port('Page', 81), port('Admin', 82)], [port('Figures', 83)]);
    for (const [wanted, hostPort] of Object.entries({ Admin: 82, 81: 81, svc1: 83, svc10: 83 })) {
      const { out } = await berth.run(['open', String(several), wanted]);
      expect(out).toBe(`http://192.0.2.7:300${hostPort}/\n`);
    }
    const figures = { service: 'svc10', name: 'Figures', url: 'http://192.0.2.7:30083/' };
    expect(await berth.json(['open', String(several), 'svc1'])).toEqual(figures);
  });

  test('L103: at a terminal on a desktop the URL is opened, unless it is only printed or not of HTTP', async () => {
    const id = await running([port('Page', 84), port('Files', 85, 'ftp')]);
    await berth.onTerminal(['open', String(id), 'Page', '--print']);
    const files = await berth.onTerminal(['open', String(id), 'Files']);
    expect(files.out).toContain('Only URLs of HTTP are opened.');
    expect((await berth.onTerminal(['open', String(id), 'Page'])).out).toBe('http://192.0.2.7:30084/\r\n');
    // The file is there before its line is.
    const opened = async () => (await readFile(join(home, 'opened'), 'utf8')) || undefined;
    expect(await eventually(opened)).toBe('http://192.0.2.7:30084/\n');
  });

  test('L103, W230: an endpoint on the host of Berth itself is opened by the page of Berth that warns', async () => {
    const facts = { name: 'shared', labels: ['shared'], address: '127.0.0.1' };
    const shared = await ScriptedAgent.join(host(), { facts });
    const id = await api.submit(application(service({ labels: ['shared'], ports: [port('Page', 89)] })));
    await shared.runs(id);
    const { out, err } = await berth.onTerminal(['open', String(id)]);
    expect(out + err).toContain('http://127.0.0.1:30089/\r\n');
    await shared.close();
    const warning = `/executions/${id}/open?url=http%3A%2F%2F127.0.0.1%3A30089%2F`;
    await eventually(async () => expect(await readFile(join(home, 'opened'), 'utf8')).toContain(warning));
  });

  test('L104: without an endpoint, or with several, open says why and which there are', async () => {
    const errorOf = (...words: string[]) => berth.refusal(['open', ...words]);
    const bare = await running([]);
    expect(await errorOf(String(bare))).toContain('has no ports');
    const mixed = await running([port('Page', 88)], []);
    expect(await errorOf(`${mixed}/svc10`)).toContain('has no ports; these have: svc00.');
    const several = await running([port('Page', 86)], [port('Figures', 87)]);
    expect(await errorOf(String(several))).toContain('several endpoints');
    expect(await errorOf(String(several), 'x')).toContain(
      'no endpoint x; it has svc00 (Page), svc10 (Figures)',
    );
    const labels = ['nowhere'];
    const waiting = await api.submit(application(service({ labels, ports: [port('Page', 88)] })));
    expect(await errorOf(String(waiting))).toContain(`berth explain ${waiting}`);
    await api.terminate(waiting);
    await api.waitFor(waiting, 'terminated');
    expect(await errorOf(String(waiting))).toContain('it has ended (terminated)');
  });
});
