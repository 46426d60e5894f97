/** `berth run` and `berth rerun`. */

import type { Command } from 'commander';
import type { Berth } from '../../client/berth.ts';
import { change, describe } from '../description.ts';
import { idOf, repeated } from '../inputs/arguments.ts';
import { addSubmitOptions, type SubmitOptions, submit } from '../submission.ts';
import { jsonOf } from '../terminal/list.ts';
import type { Terminal } from '../terminal/terminal.ts';

interface ChangeOptions extends SubmitOptions {
  set?: string[];
  envFile?: string;
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
    .action(async (id: string, options: ChangeOptions) => {
      const berth = await connect();
      const { name, description } = await berth.execution(idOf(id));
      await change(description, options, terminal.env);
      await submit(terminal, berth, name, description, options);
    });
  for (const command of [run, rerun])
    addSubmitOptions(
      command
        .option('--set <path=value>', 'set a value, such as services.main.total_count=3', repeated)
        .option('--env-file <file>', 'variables for all services, as in an env_file of Compose'),
    );
}
