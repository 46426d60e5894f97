/** `berth logs`. */
import type { Command } from 'commander';
import type { Berth } from '../../client/berth.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { idOf } from './arguments.ts';

export function addLogCommand(program: Command, terminal: Terminal, connect: () => Promise<Berth>): void {
  program
    .command('logs <id>')
    .description('Follow the output of an execution with one service, or of one of its services, to its end')
    .option('-s, --service <name>', 'the service, by its name as berth get shows it')
    .action((id: string, { service }: { service?: string }) => follow(terminal, connect, idOf(id), service));
}

async function follow(
  terminal: Terminal,
  connect: () => Promise<Berth>,
  id: number,
  wanted: string | undefined,
): Promise<void> {
  const berth = await connect();
  const service = await serviceOf(berth, id, wanted);
  for await (const bytes of berth.log(service)) await terminal.out(bytes);
}

/** The id of the service whose output is meant. */
async function serviceOf(berth: Berth, id: number, wanted: string | undefined): Promise<number> {
  const { services } = await berth.execution(id);
  if (services.length === 0) throw new Error(`Execution ${id} has no services yet: berth explain ${id}.`);
  const [only] = services;
  if (wanted === undefined && only !== undefined && services.length === 1) return only;
  const all = await Promise.all(services.map((service) => berth.service(service)));
  const found = all.find(({ name }) => name === wanted);
  if (found) return found.id;
  const names = all.map(({ name }) => name).join(', ');
  throw new Error(
    wanted === undefined
      ? `Execution ${id} has several services: choose one of ${names} with --service.`
      : `Execution ${id} has no service ${wanted}; it has ${names}.`,
  );
}
