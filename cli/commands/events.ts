/** `berth events`. */

import type { Command } from 'commander';
import type { Berth, BerthEvent, Change } from '../../client/berth.ts';
import { Exit, INTERRUPTED } from '../terminal/exit.ts';
import { jsonOf } from '../terminal/list.ts';
import { onOneLine } from '../terminal/table.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { timeOf } from '../terminal/time.ts';

export function addEventCommand(program: Command, terminal: Terminal, connect: () => Promise<Berth>): void {
  program
    .command('events')
    .description('Print what changes, from now on: executions, services and hosts')
    .option('--json', 'as JSON, one line for each event')
    .action((options: { json?: boolean }) => follow(terminal, connect, options));
}

async function follow(
  terminal: Terminal,
  connect: () => Promise<Berth>,
  { json }: { json?: boolean },
): Promise<void> {
  const berth = await connect();
  const signal = terminal.interrupted();
  const trouble = (message: string) => terminal.say(onOneLine(`${message} Berth tries again.`));
  try {
    for await (const event of berth.events({ signal, trouble })) {
      if (event.event === 'reset') terminal.say('Some events were missed: list what you need again.');
      const line = lineOf(event);
      if (json) await terminal.out(jsonOf(event));
      else if (line !== undefined) await terminal.out(`${line}\n`);
    }
  } catch (error) {
    throw signal.aborted ? new Exit(INTERRUPTED) : error;
  }
}

/** Undefined if the event is about the stream itself. */
function lineOf(event: BerthEvent): string | undefined {
  if (event.event === 'hello' || event.event === 'reset') return undefined;
  const { event: kind, id, name } = event;
  const columns = [timeOf(Date.now() / 1_000), kind.padEnd(9), String(id).padEnd(6)];
  return onOneLine([...columns, stateOf(event).padEnd(12), name].join('  '));
}

function stateOf(event: Change): string {
  switch (event.event) {
    case 'execution':
      return event.status;
    case 'service':
      return [event.status, event.progress ?? event.backend_status].filter(Boolean).join(': ');
    default:
      return event.state;
  }
}
