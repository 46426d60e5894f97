/** `berth server`, `agent`, `demo`, `backup`, `restore` and `reset-password`: programs on this machine. */
import { spawn } from 'node:child_process';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Command } from 'commander';
import { documentsFolder, LEAN, node24, OPERATOR_GUIDE, programAt } from '../machine/programs.ts';
import { Exit, FAILED } from '../terminal/exit.ts';
import type { Terminal } from '../terminal/terminal.ts';

interface MachineProgram {
  name: string;
  description: string;
  /** Without its ending, from the root of the package. */
  path: string;
  /** For Node: less memory for a process that runs for months. */
  flags?: readonly string[];
}

const PROGRAMS: readonly MachineProgram[] = [
  {
    name: 'server',
    description: 'Run a control plane with an agent for the Docker engine of this machine',
    path: 'control-plane/node',
    flags: LEAN,
  },
  {
    name: 'agent',
    description: 'Run the agent of this machine for a control plane elsewhere',
    path: 'agent/main',
    flags: ['--max-semi-space-size=1', '--liftoff-only'],
  },
  {
    name: 'demo',
    description: 'Run a container from the submission to its end, and leave nothing behind',
    path: 'examples/demo',
    flags: LEAN,
  },
  {
    name: 'backup',
    description: 'Copy the database of a control plane to a file',
    path: 'control-plane/backup',
  },
  {
    name: 'restore',
    description: 'Put a backup in the place of the database',
    path: 'control-plane/restore',
  },
  {
    name: 'reset-password',
    description: 'Give a user a new password, without the old one',
    path: 'control-plane/reset-password',
  },
];

export function addMachineCommands(program: Command, terminal: Terminal): void {
  const folder = documentsFolder();
  for (const one of PROGRAMS) {
    const command = program
      .command(`${one.name} [words...]`)
      .description(`${one.description}; settings are in the environment`)
      .addHelpText('after', folder === undefined ? '' : `\nSettings: ${join(folder, OPERATOR_GUIDE)}`)
      .allowUnknownOption()
      .action((words: string[]) => run(one, words, terminal));
    if (one.name === 'server') addServerInstall(command, terminal);
  }
}

/** Runs the program to its end. Throws Exit with its exit code unless that is 0. */
async function run(
  { path, flags = [] }: MachineProgram,
  words: string[],
  { env, onSignal }: Terminal,
): Promise<void> {
  const { file, folder } = programAt(path);
  const child = spawn(node24(), [...flags, file, ...words], {
    stdio: 'inherit',
    env: { MALLOC_ARENA_MAX: '1', NODE_COMPILE_CACHE: cacheFolder(env, folder), ...env },
  });
  // A terminal sends Ctrl-C to both; whoever stops this process means the program.
  onSignal('SIGINT', () => {});
  for (const signal of ['SIGTERM', 'SIGHUP'] as const) onSignal(signal, () => child.kill(signal));
  const code = await new Promise<number>((done, fail) => {
    child.on('error', fail).on('exit', (status) => done(status ?? FAILED));
  });
  if (code !== 0) throw new Exit(code);
}

const cacheFolder = ({ XDG_CACHE_HOME, HOME }: NodeJS.ProcessEnv, folder: string): string =>
  folder.includes('node_modules')
    ? join(XDG_CACHE_HOME || join(HOME || homedir(), '.cache'), 'berth')
    : join(folder, 'node_modules/.cache/berth');

function addServerInstall(server: Command, terminal: Terminal): void {
  server
    .command('install')
    .description('Install or update the control plane as a service of systemd (needs root)')
    .option('--uninstall', 'remove the service; its data and settings stay')
    .option('--purge', 'with --uninstall: remove its data, settings and user as well')
    .action(async ({ uninstall = false, purge = false }: { uninstall?: boolean; purge?: boolean }) => {
      if (purge && !uninstall) throw new Error('--purge goes with --uninstall only.');
      // Loaded only here, since every command starts with this file.
      const { installServer, uninstallServer } = await import('../machine/server-install.ts');
      const say = (line: string) => terminal.say(line);
      if (uninstall) await uninstallServer({ purge, say });
      else await installServer({ env: terminal.env, say });
    });
}
