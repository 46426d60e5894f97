/** Shells of the tests: installed ones, else the packages of Debian, which need root. */
import { type ChildProcess, spawn } from 'node:child_process';
import { findProgram } from '../../../agent/system-programs.ts';
import { foundOrInstalled } from './debian-program.ts';

const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

/** Paths of the shells. `say` reports long steps. */
export async function ensureShells(say: (line: string) => void = () => {}): Promise<Record<Shell, string>> {
  const paths: Partial<Record<Shell, string>> = {};
  for (const shell of SHELLS) paths[shell] = await ensureShell(shell, say);
  return paths as Record<Shell, string>;
}

function ensureShell(shell: Shell, say: (line: string) => void): Promise<string> {
  const what = { tests: 'the tests of completion', program: shell, packages: [shell] };
  return foundOrInstalled(() => findProgram(shell), what, say);
}

/** A shell on a terminal, at which keys are typed. */
export class ShellTerminal {
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;
  #shown = '';

  /** `command`: starts the shell, whose prompt must be `ready>`. */
  constructor(command: string, env: NodeJS.ProcessEnv) {
    this.#child = spawn('script', ['--quiet', '--command', command, '/dev/null'], {
      env: { ...env, TERM: 'dumb' },
      stdio: 'pipe',
    });
    this.#ended = new Promise((done) => this.#child.once('close', done));
    this.#child.stdout?.on('data', (data: Buffer) => {
      this.#shown += data;
    });
  }

  /** All that the terminal has shown. */
  get shown(): string {
    return this.#shown;
  }

  type(keys: string): void {
    this.#child.stdin?.write(keys);
  }

  async close(): Promise<void> {
    this.#child.stdin?.end();
    this.#child.kill();
    await this.#ended;
  }
}
