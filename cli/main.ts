#!/usr/bin/env node
/** Entry of the command line. */
import { run } from './program.ts';
import { terminalOf } from './terminal/terminal.ts';

// The reader of a pipe has enough.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));
process.exitCode = await run(process.argv.slice(2), terminalOf(process));
