/** `berth run` and `berth rerun`. */

import type { Command } from 'commander';
import { type Berth, BerthError, type Execution } from '../../client/berth.ts';
import { reviewOf, TAKES_OF_ITS_OWNER } from '../../shared/description-review.ts';
import { change, describe } from '../description.ts';
import { idOf, repeated } from '../inputs/arguments.ts';
import { addSubmitOptions, type SubmitOptions, submit } from '../submission.ts';
import { jsonOf } from '../terminal/list.ts';
import { onOneLine } from '../terminal/table.ts';
import type { Terminal } from '../terminal/terminal.ts';

interface ChangeOptions extends SubmitOptions {
  set?: string[];
  envFile?: string;
}

interface RerunOptions extends ChangeOptions {
  asMe?: boolean;
}

interface RunOptions extends ChangeOptions {
  image?: string;
  print?: boolean;
}

export function addRunCommands(program: Command, terminal: Terminal, connect: () => Promise<Berth>): void {
  const run = program
    .command('run [file-or-words...]')
    .usage('FILE [options]\n       berth run --image IMAGE [options] [-- WORDS]')
    .description(
      'Submit an application, and print the id of its execution; FILE is a description in JSON, - for ' +
        'standard input, or a Compose file (.yaml, .yml)',
    )
    .option('--image <image>', 'run one container of this image, with WORDS as its command')
    .option('--print', 'print the description and submit nothing')
    .action(async (given: string[], options: RunOptions) => {
      const [path, words] = options.image === undefined ? [given[0], given.slice(1)] : [undefined, given];
      const application = await describe(terminal, path, words, options);
      if (options.print) return terminal.out(jsonOf(application, 2));
      await submit(terminal, await connect(), application.name, application, options);
    });
  const rerun = program
    .command('rerun <id>')
    .description('Submit the description of an execution again, and print the id of the new one')
    .option('--as-me', 'also if another user submitted it: it gets your secrets, files and workspace')
    .action(async (id: string, { asMe = false, ...options }: RerunOptions) => {
      const berth = await connect();
      const execution = await berth.execution(idOf(id));
      await reviewAnothers(terminal, berth, execution, asMe);
      const { name, description } = execution;
      await change(description, options, terminal);
      await submit(terminal, berth, name, description, options);
    });
  for (const command of [run, rerun])
    addSubmitOptions(
      command
        .option('--set <path=value>', 'set a value, such as services.main.total_count=3', repeated)
        .option('--env-file <file>', 'variables for all services, as in an env_file of Compose'),
    );
}

/** Prints what the description of another user takes, as the page does. Throws unless that was accepted. */
async function reviewAnothers(
  terminal: Terminal,
  berth: Berth,
  { id, user_id, description }: Execution,
  isAccepted: boolean,
): Promise<void> {
  const user = await berth.user();
  if (user.id === user_id) return;
  const owner = await ownerName(berth, user_id);
  terminal.say(`Execution ${id} is ${onOneLine(owner)}'s, not yours.`);
  for (const { name, entries } of reviewOf(description))
    for (const entry of entries.length > 0 ? entries : ['none'])
      terminal.say(`${`${name}:`.padEnd(NAME_WIDTH)}${onOneLine(entry)}`);
  terminal.say(TAKES_OF_ITS_OWNER);
  if (!isAccepted)
    throw new Error(
      `Nothing was submitted. If you trust ${onOneLine(owner)} with this, repeat it with --as-me.`,
    );
}

const NAME_WIDTH = 10;

/** Roles that see executions of others need not see their accounts. */
async function ownerName(berth: Berth, id: number): Promise<string> {
  try {
    return (await berth.users.get(id)).username;
  } catch (error) {
    if (error instanceof BerthError) return `user ${id}`;
    throw error;
  }
}
