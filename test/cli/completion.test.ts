/** What `berth complete` offers; the shells themselves are in test/all/hosts/command-line. */
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ScriptedAgent } from '../support/agents/scripted-agent.ts';
import { ApiClient } from '../support/clients/api-client.ts';
import { adminLine, CommandLine } from '../support/clients/command-line.ts';
import { application, service } from '../support/fixtures/descriptions.ts';
import { onHosts } from '../support/hosts/hosts.ts';
import { eventually } from '../support/tools/eventually.ts';
import { serving } from '../support/tools/serving.ts';

onHosts([{ kind: 'node', variant: 'B' }], (host) => {
  const api = new ApiClient(host);
  const berth = adminLine(host);
  let agent: ScriptedAgent;
  beforeAll(async () => {
    agent = await ScriptedAgent.join(host());
  });
  afterAll(() => agent.close());

  /** What completes the last word, without the names that have not come in time (L54). */
  const offered = async (...words: string[]): Promise<string[]> => {
    const out = await berth.outOf(['complete', '--', ...words]);
    return out.split('\n').flatMap((line) => (line === '' ? [] : [line.split('\t')[0] ?? '']));
  };

  test('L53: what stands before the word decides what is offered', async () => {
    const [{ name }] = await berth.json(['host', 'ls']);
    await eventually(async () => expect(await offered('host', 'resume', '')).toEqual([name]));
    expect(await offered('host', 'resume', name, '')).toEqual([]);
    expect(await offered('completion', '')).toEqual(['bash', 'zsh', 'fish']);
    expect(await offered('help', 'valid')).toEqual(['validate']);
    expect(await offered('run', '--env-file', '')).toEqual([':files']);
    expect(await offered('run', '--image', 'debian:13', '--', '--js')).toEqual([':files']);
    expect(await offered('nothing', 'at', '')).toEqual([]);
    expect(await offered('compl')).toEqual(['completion']);
    expect((await berth.run(['completion', 'ksh'])).err).toContain('Allowed choices are bash, zsh, fish');
  });

  test('L54: a control plane that never answers delays nobody, and no failure says a word', async () => {
    const port = await serving(createServer(() => {}));
    const urls = [`http://127.0.0.1:${port}`, 'http://127.0.0.1:1', 'no address'];
    for (const BERTH_URL of urls) {
      expect(await new CommandLine(berth.home, { BERTH_URL }).outOf(['complete', '--', 'stop', ''])).toBe('');
    }
    const damaged = join(berth.home, 'damaged');
    await writeFile(damaged, '');
    const line = new CommandLine(berth.home, { XDG_CONFIG_HOME: damaged });
    expect(await line.outOf(['complete', '--', 'stop', ''])).toBe('');
  });

  test('L55: at most 200 names are offered, and none that a shell would have to quote', async () => {
    await agent.close();
    const many = await Promise.all(
      Array.from({ length: 201 }, () => api.submit(application(service({ labels: ['nowhere'] })))),
    );
    const newest = many.toSorted((one, other) => other - one).slice(0, 200);
    await eventually(async () => expect(await offered('wait', '')).toEqual(newest.map(String)));
    agent = await ScriptedAgent.join(host(), { facts: { name: '$(reboot)' } });
    // The other host shows that the names have come in time.
    await eventually(async () => expect(await offered('host', 'get', '')).toEqual([expect.any(String)]));
  });
});
