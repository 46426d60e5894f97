import type { Command } from 'commander';
import { expect, test } from 'vitest';
import { EXAMPLES } from '../../../cli/examples.ts';
import { programOf } from '../../../cli/program.ts';
import type { Terminal } from '../../../cli/terminal/terminal.ts';

const silent = { env: {}, out: async () => {}, say: () => {} } as unknown as Terminal;

/** All commands that help shows, with their words after `berth`. */
function commandsOf(command: Command, path: readonly string[] = []): [path: string, command: Command][] {
  const shown = command.commands.filter((one) => one.name() !== 'complete');
  return [[path.join(' '), command], ...shown.flatMap((one) => commandsOf(one, [...path, one.name()]))];
}

/** The words of a line as a shell reads it; only single quotes are known. */
const wordsOf = (line: string): string[] =>
  [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '');

/** A group runs nothing by itself, but for one. */
const isRun = (path: string, command: Command): boolean => command.commands.length === 0 || path === 'server';

/** Parses the line with the program itself. Resolves to the words of the command that it would run. */
async function parsed(line: string): Promise<string | undefined> {
  const program = programOf(silent);
  let found: string | undefined;
  for (const [path, command] of commandsOf(program))
    if (isRun(path, command))
      command.exitOverride().action(() => {
        found = path;
      });
  const [name, ...words] = wordsOf(line);
  expect(name).toBe('berth');
  await program.parseAsync(words, { from: 'user' });
  return found;
}

const commands = commandsOf(programOf(silent));

test('L100: exactly the commands that help shows have examples', () => {
  expect(Object.keys(EXAMPLES).sort()).toEqual(commands.map(([path]) => path).sort());
});

test.each(commands)('L100: the program accepts each example of berth %s', async (path, command) => {
  const examples = EXAMPLES[path] ?? [];
  expect([1, 2, 3]).toContain(examples.length);
  for (const [line] of examples) {
    const ran = await parsed(line);
    // The help of a group has examples of its commands.
    if (isRun(path, command)) expect(ran).toBe(path);
    else expect(`${ran} `.startsWith(path === '' ? '' : `${path} `)).toBe(true);
  }
});

test.each(commands)(
  'L100: berth %s --help shows its help, which ends with its examples, and runs nothing',
  async (path) => {
    const program = programOf(silent);
    let [help, hasRun] = ['', false];
    for (const [, command] of commandsOf(program))
      command
        .exitOverride()
        .configureOutput({ writeOut: (text) => (help += text) })
        .action(() => {
          hasRun = true;
        });
    const words = [...path.split(' '), '--help'].filter((word) => word !== '');
    const parsing = program.parseAsync(words, { from: 'user' });
    await expect(parsing).rejects.toMatchObject({ code: 'commander.helpDisplayed' });
    expect(hasRun).toBe(false);
    const [line = '', meaning = ''] = EXAMPLES[path]?.at(-1) ?? [];
    const last = help.trimEnd().split('\n').at(-1) ?? '';
    expect([last.startsWith(`  ${line} `), last.endsWith(meaning)]).toEqual([true, true]);
  },
);
