/** `berth wait`. */

import type { Command } from 'commander';
import type { Berth } from '../../client/berth.ts';
import { idOf, secondsOf } from '../inputs/arguments.ts';
import { jsonOf } from '../terminal/list.ts';
import { LiveLine } from '../terminal/live-line.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { assertEndedWell, Patience, untilEnded } from '../waiting.ts';

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
    .option('--json', 'print the execution as JSON once it has ended')
    .action(async (id: string, { timeout, json }: { timeout?: number; json?: boolean }) => {
      const berth = await connect();
      const patience = new Patience(terminal, idOf(id), { timeoutS: timeout });
      await patience.during(() => untilEnded(berth, idOf(id), new LiveLine(terminal), patience.signal));
      if (json) await terminal.out(jsonOf(await berth.execution(idOf(id))));
      await assertEndedWell(berth, idOf(id));
    });
}
