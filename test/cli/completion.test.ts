import { execFile } from 'node:child_process';
import { chmod, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ScriptedAgent } from '../support/agents/scripted-agent.ts';
import { ApiClient } from '../support/clients/api-client.ts';
import { CommandLine } from '../support/clients/command-line.ts';
import { application, service } from '../support/fixtures/descriptions.ts';
import { ADMIN_PASSWORD, onHosts, type Setup } from '../support/hosts/hosts.ts';
import { programPath } from '../support/hosts/process.ts';
import { eventually } from '../support/tools/eventually.ts';
import { scratchFolder } from '../support/tools/folder.ts';
import { ensureShells, type Shell, ShellTerminal } from '../support/tools/shells.ts';
import { NODE_COMPILE_CACHE } from '../support/tools/tool.ts';

const INSTALL_MS = 300_000;
/** A shell calls `berth` for each Tab, which takes seconds on a busy machine. */
const COMPLETED_MS = 60_000;
const MAIN = programPath('cli/main.ts');
const setups: readonly Setup[] = [{ kind: 'node', variant: 'B' }];
const run = promisify(execFile);

/** `berth` as a shell finds it. What it is called with is noted, unless it is for completion itself. */
const programIn = (folder: string) => `#!/bin/sh
case "$1" in
  complete | completion) exec '${process.execPath}' '${MAIN}' "$@" ;;
  *) echo "$@" >> '${folder}/called' ;;
esac
`;

onHosts(setups, (host) => {
  const api = new ApiClient(host);
  let home: string;
  let berth: CommandLine;
  let shells: Record<Shell, string>;
  let agent: ScriptedAgent;
  let id: number;
  let env: NodeJS.ProcessEnv;
  beforeAll(async () => {
    shells = await ensureShells();
    home = await scratchFolder('berth-home-');
    berth = new CommandLine(home);
    await berth.logIn(host().url(), ADMIN_PASSWORD);
    await mkdir(join(home, 'bin'));
    await writeFile(join(home, 'bin/berth'), programIn(home));
    await chmod(join(home, 'bin/berth'), 0o755);
    await writeFile(join(home, 'app-of-a-file.json'), '{}');
    const shell = { HOME: home, PS1: 'ready> ', ZDOTDIR: home };
    env = { PATH: `${join(home, 'bin')}:${process.env.PATH}`, ...shell, NODE_COMPILE_CACHE };
    agent = await ScriptedAgent.join(host());
    id = await api.submit(application(service()));
  }, INSTALL_MS);
  afterAll(async () => {
    await agent.close();
    await rm(home, { recursive: true, force: true });
  });

  /** What completes the last word. */
  const offered = async (...words: string[]): Promise<string[]> => {
    const { code, out, err } = await berth.run(['complete', '--', ...words]);
    expect([code, err]).toEqual([0, '']);
    return out.split('\n').flatMap((line) => (line === '' ? [] : [line.split('\t')[0] ?? '']));
  };

  /** Types each line, and resolves to what `berth` was then called with. */
  const typed = async (start: string, ...lines: string[]): Promise<string[]> => {
    const terminal = new ShellTerminal(`cd '${home}'; exec ${start}`, env);
    const calls = async () => (await readFile(join(home, 'called'), 'utf8').catch(() => '')).split('\n');
    try {
      await eventually(async () => terminal.shown.includes('ready> '), COMPLETED_MS);
      for (const [n, line] of lines.entries()) {
        terminal.type(`${line}\r`);
        await eventually(async () => (await calls()).length > n + 1, COMPLETED_MS);
      }
      return (await calls()).slice(0, -1).map((call) => call.trim());
    } finally {
      await terminal.close();
      await rm(join(home, 'called'), { force: true });
    }
  };

  const LINES = ['berth host dr\t', 'berth ps --js\t', 'berth stop \t', 'berth run app-of\t'];
  const called = () => ['host drain', 'ps --json', `stop ${id}`, 'run app-of-a-file.json'];

  test('L53: in bash, Tab completes commands, options, executions and files', async () => {
    await writeFile(join(home, 'rc'), "PS1='ready> '; source <(berth completion bash)\n");
    expect(await typed(`'${shells.bash}' --noprofile --rcfile '${home}/rc' -i`, ...LINES)).toEqual(called());
  });

  test('L53: in zsh, Tab completes commands, options, executions and files', async () => {
    const rc = 'autoload -U compinit; compinit -u -D; source <(berth completion zsh)\n';
    await writeFile(join(home, '.zshrc'), rc);
    expect(await typed(`'${shells.zsh}' -d -i`, ...LINES)).toEqual(called());
  });

  test('L53: in fish, the candidates are commands, options, executions and files', async () => {
    const candidates = async (line: string) => {
      const script = `berth completion fish | source; complete -C '${line.replace('\t', '')}'`;
      const { stdout } = await run(shells.fish, ['--no-config', '-c', script], { env, cwd: home });
      return stdout.split('\n').flatMap((one) => (one === '' ? [] : [one.split('\t')[0]]));
    };
    expect(await Promise.all(LINES.map(candidates))).toEqual([
      ['drain'],
      ['--json'],
      [String(id)],
      ['app-of-a-file.json'],
    ]);
  });

  test('L53: what stands before the word decides what is offered', async () => {
    const [name = ''] = (await berth.run(['host', 'ls', '--json'])).out.match(/(?<="name":")[^"]+/) ?? [];
    expect(await offered('host', 'resume', '')).toEqual([name]);
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
    const silent = createServer(() => {}).listen(0, '127.0.0.1');
    await new Promise((done) => silent.once('listening', done));
    const { port } = silent.address() as { port: number };
    const urls = [`http://127.0.0.1:${port}`, 'http://127.0.0.1:1', 'no address'];
    for (const BERTH_URL of urls) {
      const { code, out, err } = await new CommandLine(home, { BERTH_URL }).run([
        'complete',
        '--',
        'stop',
        '',
      ]);
      expect([code, out, err]).toEqual([0, '', '']);
    }
    await writeFile(join(home, 'damaged'), '');
    const damaged = new CommandLine(home, { XDG_CONFIG_HOME: join(home, 'damaged') });
    expect(await damaged.run(['complete', '--', 'stop', ''])).toEqual({ code: 0, out: '', err: '' });
    silent.close();
  });

  test('L55: at most 200 names are offered, and none that a shell would have to quote', async () => {
    await agent.close();
    const many = await Promise.all(
      Array.from({ length: 201 }, () => api.submit(application(service({ labels: ['nowhere'] })))),
    );
    const executions = await offered('wait', '');
    expect(executions).toHaveLength(200);
    expect(executions).toContain(String(many.at(-1)));
    agent = await ScriptedAgent.join(host(), { facts: { name: '$(reboot)' } });
    expect((await offered('host', 'get', '')).filter((name) => name.includes('$'))).toEqual([]);
  });
});
