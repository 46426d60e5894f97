#!/usr/bin/env node
/** Entry of the command line. */
import { run } from './program.ts';
import { FAILED } from './terminal/exit.ts';
import { terminalOf } from './terminal/terminal.ts';

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // The reader of a pipe has enough.
  if (error.code === 'EPIPE') process.exit(0);
  process.stderr.write(`The output can't be written: ${error.message}\n`, () => process.exit(FAILED));
});
// Nobody reads the words. The exit code still counts.
process.stderr.on('error', () => {});
const args = process.argv.slice(2);
process.exitCode = await run(args, terminalOf(process));
// The look-up of a name can't be ended, and a shell waits for its candidates.
if (args[0] === 'complete') process.exit();
