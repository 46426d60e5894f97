/** `berth wait`. */
import type { Command } from 'commander';
import type { Berth } from '../../client/berth.ts';
import { LiveLine } from '../terminal/live-line.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { assertEndedWell, Patience, untilEnded } from '../waiting.ts';
import { idOf, secondsOf } from './arguments.ts';

export function addWaitCommand(program: Command, terminal: Terminal, connect: () => Promise<Berth>): void {
  program
    .command('wait <id>')
    .description(
      'Wait until an execution has ended, and exit with the exit code of the service that ended it',
    )
    .option(
      '--timeout <seconds>',
      'give up after so long, and exit with 124; the execution goes on',
      secondsOf,
    )
    .action(async (id: string, { timeout }: { timeout?: number }) =>
      waitFor(terminal, await connect(), idOf(id), timeout),
    );
}

export async function waitFor(
  terminal: Terminal,
  berth: Berth,
  id: number,
  timeoutS: number | undefined,
): Promise<void> {
  const patience = new Patience(terminal, id, { timeoutS });
  await patience.during(() => untilEnded(berth, id, new LiveLine(terminal), patience.signal));
  await assertEndedWell(berth, id);
}
