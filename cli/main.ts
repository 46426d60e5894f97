#!/usr/bin/env node
/** Entry of the command line. */
import { run } from './program.ts';
import { terminalOf } from './terminal/terminal.ts';

// The reader of a pipe has enough.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));
const args = process.argv.slice(2);
process.exitCode = await run(args, terminalOf(process));
// The look-up of a name can't be ended, and a shell waits for its candidates.
if (args[0] === 'complete') process.exit();
