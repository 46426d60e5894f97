/** Completion of `berth` in the shells themselves. */
import { execFile } from 'node:child_process';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, expect, test } from 'vitest';
import { ApiClient } from '../../../support/clients/api-client.ts';
import { adminLine } from '../../../support/clients/command-line.ts';
import { onTerminal } from '../../../support/clients/commands/process.ts';
import { application, service } from '../../../support/fixtures/descriptions.ts';
import { onHosts, type Setup } from '../../../support/hosts/hosts.ts';
import { programPath } from '../../../support/hosts/process.ts';
import { eventually } from '../../../support/tools/eventually.ts';
import { ensureShells, type Shell } from '../../../support/tools/shells.ts';
import { NODE_COMPILE_CACHE } from '../../../support/tools/tool.ts';

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
  const { home } = adminLine(host);
  const shell = { HOME: home, PS1: 'ready> ', ZDOTDIR: home };
  const env = { PATH: `${join(home, 'bin')}:${process.env.PATH}`, ...shell, NODE_COMPILE_CACHE };
  let shells: Record<Shell, string>;
  let id: number;
  beforeAll(async () => {
    shells = await ensureShells();
    await mkdir(join(home, 'bin'));
    await writeFile(join(home, 'bin/berth'), programIn(home), { mode: 0o755 });
    await writeFile(join(home, 'app-of-a-file.json'), '{}');
    id = await api.submit(application(service()));
  }, INSTALL_MS);

  /** Types each line, and resolves to what `berth` was then called with. */
  const typed = async (start: string, ...lines: string[]): Promise<string[]> => {
    const terminal = onTerminal(`cd '${home}'; exec ${start}`, { ...env, TERM: 'dumb' });
    const calls = async () => (await readFile(join(home, 'called'), 'utf8').catch(() => '')).split('\n');
    try {
      await eventually(async () => terminal.out().includes('ready> '), COMPLETED_MS);
      for (const [n, line] of lines.entries()) {
        terminal.type(`${line}\r`);
        await eventually(async () => (await calls()).length > n + 1, COMPLETED_MS);
      }
      return (await calls()).slice(0, -1).map((call) => call.trim());
    } finally {
      terminal.signal('SIGTERM');
      await terminal.ended;
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
});
