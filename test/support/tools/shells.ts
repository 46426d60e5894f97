/** Shells of the tests: installed ones, else the packages of Debian, which need root. */
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
