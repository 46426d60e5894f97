/** `berth completion`, and `berth complete`, which the scripts of the shells call. */
import { Argument, type Command } from 'commander';
import type { Berth } from '../../client/berth.ts';
import { hasNames, namesOf } from '../completion/names.ts';
import { type Candidate, type Place, placeAt } from '../completion/place.ts';
import { SCRIPTS, SHELLS, type Shell } from '../completion/scripts.ts';
import { ContextsFile } from '../contexts.ts';
import { onOneLine } from '../terminal/table.ts';
import type { Terminal } from '../terminal/terminal.ts';

/** Beside the start of the program, which takes about as long. */
const MAX_WAIT_MS = 500;

/** A name with other characters would have to be quoted, in each shell in another way. */
const PLAIN = /^[\w-][\w.@:/+-]{0,199}$/;

export function addCompletionCommands(
  program: Command,
  terminal: Terminal,
  connect: (signal: AbortSignal) => Promise<Berth>,
): void {
  program
    .command('completion')
    .addArgument(new Argument('<shell>', 'bash, zsh or fish').choices(SHELLS))
    .description('Print a script with which the shell completes commands, options, executions and hosts')
    .action((shell: Shell) => terminal.out(SCRIPTS[shell]));
  program
    .command('complete [words...]', { hidden: true })
    .helpOption(false)
    .allowUnknownOption()
    .action((words: string[]) => complete(program, terminal, connect, words));
}

/** Prints the candidates for the last word. Never fails: without names, a shell offers none. */
async function complete(
  program: Command,
  terminal: Terminal,
  connect: (signal: AbortSignal) => Promise<Berth>,
  words: readonly string[],
): Promise<void> {
  const place = placeAt(program, words);
  const live = await liveNames(terminal, connect, place).catch(() => []);
  const candidates = [...place.candidates, ...live]
    .filter(({ value }) => PLAIN.test(value) && value.startsWith(words.at(-1) ?? ''))
    .filter(({ value }) => !place.operands.includes(value))
    .map(({ value, description }) => `${value}\t${onOneLine(description)}\n`);
  await terminal.out([...candidates, ...(place.kinds.includes('file') ? [':files\n'] : [])].join(''));
}

async function liveNames(
  terminal: Terminal,
  connect: (signal: AbortSignal) => Promise<Berth>,
  { kinds, operands }: Place,
): Promise<Candidate[]> {
  const kind = kinds.find((one) => hasNames(one) || one === 'context');
  if (kind === undefined) return [];
  if (kind === 'context') {
    const { contexts } = await new ContextsFile(terminal.env).read();
    return Object.entries(contexts).map(([value, { url }]) => ({ value, description: url }));
  }
  return namesOf(kind, await connect(AbortSignal.timeout(MAX_WAIT_MS)), operands);
}
