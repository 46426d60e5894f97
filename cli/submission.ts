/** Submits an application, and waits for its execution if the options state so. */

import { type Command, Option } from 'commander';
import { type Berth, MAX_SERVICES } from '../client/berth.ts';
import type { Description } from './description.ts';
import { secondsOf } from './inputs/arguments.ts';
import { durationOf } from './inputs/durations.ts';
import { printOutput, type Source } from './output.ts';
import { jsonOf } from './terminal/list.ts';
import { LiveLine } from './terminal/live-line.ts';
import type { Terminal } from './terminal/terminal.ts';
import { assertEndedWell, Patience, untilEnded } from './waiting.ts';

export interface SubmitOptions {
  name?: string;
  detach?: boolean;
  wait?: boolean;
  follow?: boolean;
  timeout?: number;
  timeLimit?: number;
  share?: 'users';
  json?: boolean;
}

export const addSubmitOptions = (command: Command): Command =>
  command
    .option('--name <name>', 'the name of the execution')
    .option('-d, --detach', 'do not wait (the default)')
    .option('-w, --wait', 'wait until it has ended, and exit with the exit code of the service that ended it')
    .option('-f, --follow', 'show the output of its monitor services, and wait')
    .option('--timeout <seconds>', 'wait no longer, and exit with 124; the execution goes on', secondsOf)
    .option('--time-limit <time>', 'stop it after this time, such as 90m', durationOf)
    .addOption(
      new Option('--share <who>', 'let everybody who is logged in use its web applications').choices([
        'users',
      ]),
    )
    .option('--json', 'print the id as JSON')
    .option('-q, --quiet', 'print the id only (the default)');

export async function submit(
  terminal: Terminal,
  berth: Berth,
  name: string,
  application: Description,
  options: SubmitOptions,
): Promise<void> {
  const { detach = false, wait = false, follow = false, json } = options;
  if (Number(detach) + Number(wait) + Number(follow) > 1)
    throw new Error('Choose one of --detach, --wait and --follow.');
  const { share, timeLimit: timeLimitS } = options;
  const id = await berth.submit(
    options.name ?? name,
    { ...application, ...(share && { share }) },
    { timeLimitS },
  );
  // The output of the execution alone is on standard output.
  if (follow) terminal.say(`Execution ${id}`);
  else await terminal.out(json ? jsonOf({ execution_id: id }) : `${id}\n`);
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
