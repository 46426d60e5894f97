/** `berth run` and `berth rerun`. */
import type { Command } from 'commander';
import { type Berth, MAX_SERVICES } from '../../client/berth.ts';
import { change, type Description, describe } from '../description.ts';
import { idOf, repeated, secondsOf } from '../inputs/arguments.ts';
import { durationOf } from '../inputs/durations.ts';
import { printOutput, type Source } from '../output.ts';
import { LiveLine } from '../terminal/live-line.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { assertEndedWell, Patience, untilEnded } from '../waiting.ts';

interface SubmitOptions {
  name?: string;
  set?: string[];
  envFile?: string;
  detach?: boolean;
  wait?: boolean;
  follow?: boolean;
  timeout?: number;
  timeLimit?: number;
  json?: boolean;
}

interface RunOptions extends SubmitOptions {
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
      if (options.print) return terminal.out(`${JSON.stringify(application, null, 2)}\n`);
      await submit(terminal, await connect(), application.name, application, options);
    });
  const rerun = program
    .command('rerun <id>')
    .description('Submit the description of an execution again, and print the id of the new one')
    .action(async (id: string, options: SubmitOptions) => {
      const berth = await connect();
      const { name, description } = await berth.execution(idOf(id));
      await change(description, options);
      await submit(terminal, berth, name, description, options);
    });
  for (const command of [run, rerun])
    command
      .option('--name <name>', 'the name of the execution')
      .option('--set <path=value>', 'set a value, such as services.main.total_count=3', repeated)
      .option('--env-file <file>', 'variables for all services, a line NAME=VALUE for each')
      .option('-d, --detach', 'do not wait (the default)')
      .option(
        '-w, --wait',
        'wait until it has ended, and exit with the exit code of the service that ended it',
      )
      .option('-f, --follow', 'show the output of its monitor services, and wait')
      .option('--timeout <seconds>', 'wait no longer, and exit with 124; the execution goes on', secondsOf)
      .option('--time-limit <time>', 'stop it after this time, such as 90m', durationOf)
      .option('--json', 'print the id as JSON');
}

async function submit(
  terminal: Terminal,
  berth: Berth,
  name: string,
  application: Description,
  options: SubmitOptions,
): Promise<void> {
  const { detach = false, wait = false, follow = false, json } = options;
  if (Number(detach) + Number(wait) + Number(follow) > 1)
    throw new Error('Choose one of --detach, --wait and --follow.');
  const id = await berth.submit(options.name ?? name, application, { timeLimitS: options.timeLimit });
  // The output of the execution alone is on standard output.
  if (follow) terminal.say(`Execution ${id}`);
  else await terminal.out(json ? `${JSON.stringify({ execution_id: id })}\n` : `${id}\n`);
  if (!wait && !follow) return;
  const patience = new Patience(terminal, id, { timeoutS: options.timeout });
  await patience.during(async () => {
    if (follow) await followOutput(terminal, berth, id, patience.signal);
    await untilEnded(berth, id, new LiveLine(terminal), patience.signal);
  });
  await assertEndedWell(berth, id);
}

/** Until the output begins, it is said what the execution waits for. */
async function followOutput(
  terminal: Terminal,
  berth: Berth,
  id: number,
  signal: AbortSignal,
): Promise<void> {
  const hasBegun = new AbortController();
  const begun = () => hasBegun.abort();
  const line = new LiveLine(terminal);
  const either = AbortSignal.any([signal, hasBegun.signal]);
  const waiting = untilEnded(berth, id, line, either).catch((error: unknown) => {
    if (!hasBegun.signal.aborted) throw error;
  });
  const sources = await monitorsOf(berth, id);
  await Promise.all([printOutput(terminal, berth, id, sources, { signal, begun }).finally(begun), waiting]);
}

async function monitorsOf(berth: Berth, id: number): Promise<Source[]> {
  const all = await berth.services(id);
  return all.filter(({ description }) => description.monitor).slice(0, MAX_SERVICES);
}
