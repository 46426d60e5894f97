/** `berth logs`. */
import type { Command } from 'commander';
import { type Berth, MAX_SERVICES } from '../../client/berth.ts';
import { idOf, repeated, timeMsOf } from '../inputs/arguments.ts';
import { printOutput, type Source } from '../output.ts';
import { Exit, INTERRUPTED } from '../terminal/exit.ts';
import type { Terminal } from '../terminal/terminal.ts';

interface LogOptions {
  service?: string[];
  timestamps?: boolean;
  since?: number;
}

export function addLogCommand(program: Command, terminal: Terminal, connect: () => Promise<Berth>): void {
  program
    .command('logs <id>')
    .description('Print the output of an execution from its beginning, and follow it to its end')
    .option(
      '-s, --service <name>',
      'of this service only, by its name as berth get shows it; may be repeated',
      repeated,
    )
    .option('-t, --timestamps', 'begin each line with its time')
    .option(
      '--since <time>',
      'only what was written since then, such as 10m or 2026-11-26T12:00:00Z',
      timeMsOf,
    )
    .action((id: string, options: LogOptions) => follow(terminal, connect, idOf(id), options));
}

async function follow(
  terminal: Terminal,
  connect: () => Promise<Berth>,
  id: number,
  { service, timestamps, since: sinceMs }: LogOptions,
): Promise<void> {
  const berth = await connect();
  const sources = await sourcesOf(berth, id, service);
  const signal = terminal.interrupted();
  try {
    await printOutput(terminal, berth, id, sources, { signal, timestamps, sinceMs });
  } catch (error) {
    throw signal.aborted ? new Exit(INTERRUPTED) : error;
  }
}

/** The services of those names, or all of the execution. */
async function sourcesOf(berth: Berth, id: number, names: readonly string[] | undefined): Promise<Source[]> {
  const { services } = await berth.execution(id);
  const all = await Promise.all(services.map((service) => berth.service(service)));
  const known = all.map(({ name }) => name).join(', ');
  const unknown = names?.find((name) => !all.some((one) => one.name === name));
  if (unknown !== undefined) throw new Error(`Execution ${id} has no service ${unknown}; it has ${known}.`);
  const sources = names ? all.filter(({ name }) => names.includes(name)) : all;
  if (sources.length <= MAX_SERVICES) return sources;
  throw new Error(
    `At most ${MAX_SERVICES} services can be followed at once: choose some of ${known} with --service.`,
  );
}
