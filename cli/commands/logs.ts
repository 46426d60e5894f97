/** `berth logs`. */
import type { Command } from 'commander';
import type { Berth } from '../../client/berth.ts';
import { chosenServices } from '../../client/logs.ts';
import { linesOf, placeOf, repeated, timeMsOf } from '../inputs/arguments.ts';
import { printOutput } from '../output.ts';
import { Exit, INTERRUPTED } from '../terminal/exit.ts';
import type { Terminal } from '../terminal/terminal.ts';

interface LogOptions {
  service?: string[];
  timestamps?: boolean;
  since?: number;
  follow?: boolean;
  tail?: number;
  json?: boolean;
  raw?: boolean;
}

export function addLogCommand(program: Command, terminal: Terminal, connect: () => Promise<Berth>): void {
  program
    .command('logs <id>')
    .alias('log')
    .description('Print the output of an execution from its beginning; ID/SERVICE: of one of its services')
    .option('-f, --follow', 'go on until no more output can come')
    .option('--tail <lines>', 'only so many last lines of each service, since its last start', linesOf)
    .option(
      '-s, --service <service>',
      'of this service only, by its name as berth get shows it; may be repeated',
      repeated,
    )
    .option('-t, --timestamps', 'begin each line with its time, which --since takes')
    .option(
      '--since <time>',
      'only what was written since then: 10m, or a time as it is shown; without a zone it is local',
      timeMsOf,
    )
    .option('--json', 'each line as JSON: service, time in seconds since the epoch, and text')
    .option('--raw', 'on a terminal, pass all that it is sent, and not only text and colours')
    .action((given: string, options: LogOptions) => {
      const { id, service } = placeOf(given);
      return print(terminal, connect, id, {
        ...options,
        ...(service && { service: [...(options.service ?? []), service] }),
      });
    });
}

async function print(
  terminal: Terminal,
  connect: () => Promise<Berth>,
  id: number,
  { service, timestamps, since: sinceMs, follow = false, ...form }: LogOptions,
): Promise<void> {
  const berth = await connect();
  const sources = chosenServices(id, await berth.services(id), service);
  const signal = terminal.interrupted();
  try {
    await printOutput(terminal, berth, id, sources, { signal, timestamps, sinceMs, follow, ...form });
  } catch (error) {
    throw signal.aborted ? new Exit(INTERRUPTED) : error;
  }
}
