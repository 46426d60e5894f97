/** `berth exec`. */
import type { Command } from 'commander';
import type { Berth } from '../../client/berth.ts';
import type { ClientStream } from '../../client/streams.ts';
import { Exit } from '../terminal/exit.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { serviceAt } from './place.ts';

interface ExecOptions {
  interactive?: boolean;
  tty?: boolean;
  user?: string;
}

/** Signals that reach the command in place of this program. */
const SIGNALS = { SIGINT: 'INT', SIGTERM: 'TERM', SIGHUP: 'HUP', SIGQUIT: 'QUIT' } as const;
/**
 * Signals that end this program instead if the command has its terminal, with their exit codes. A shell
 * ignores the first, and would keep a terminal that is gone.
 */
const ENDS: Readonly<Record<string, number>> = { SIGTERM: 143, SIGHUP: 129 };

export function addExecCommand(program: Command, terminal: Terminal, connect: () => Promise<Berth>): void {
  program
    .command('exec <id> <words...>')
    .description('Run a command in a running service (ID/SERVICE), and exit with its exit code')
    .option('-i, --interactive', 'pass the standard input on')
    .option('-t, --tty', 'give the command a terminal, that of this program')
    .option('-u, --user <user>', 'as this user of the image, by number or name')
    .action((given: string, words: string[], options: ExecOptions) =>
      exec(terminal, connect, given, words, options),
    );
}

async function exec(
  terminal: Terminal,
  connect: () => Promise<Berth>,
  given: string,
  words: string[],
  { interactive = false, tty = false, user }: ExecOptions,
): Promise<void> {
  if (tty && !terminal.isInteractive) throw new Error('--tty requires a terminal: leave it out in scripts.');
  const berth = await connect();
  const service = await serviceAt(berth, given);
  const sizeNow = () => ({ columns: terminal.columns || 80, rows: terminal.rows || 24 });
  const size = sizeNow();
  const request = { words, ...(tty && { terminal: size }), ...(user !== undefined && { user }) };
  const stream = await berth.exec(service, request);
  let endedBy: number | undefined;
  const stop = connectInput(terminal, stream, { interactive, tty }, (code) => {
    endedBy = code;
    stream.close();
  });
  const { columns, rows } = sizeNow();
  // The window may have changed meanwhile.
  if (tty && (columns !== size.columns || rows !== size.rows)) stream.resize(columns, rows);
  try {
    await printOutput(terminal, stream, tty);
  } catch (error) {
    throw endedBy === undefined ? error : new Exit(endedBy);
  } finally {
    stop();
    stream.close();
  }
  throw new Exit(stream.exitCode ?? 0);
}

async function printOutput(terminal: Terminal, stream: ClientStream, tty: boolean): Promise<void> {
  for await (const chunk of stream.output()) {
    if (tty) await terminal.out(chunk);
    // The exit code does not depend on whether anybody reads it (L153).
    else if (chunk[0] === 2) await terminal.err(chunk.subarray(1)).catch(() => {});
    else await terminal.out(chunk.subarray(1));
  }
}

/**
 * Passes on input, signals and sizes. Calls `ended` with the exit code of a signal that ends this program.
 * Returns a function that ends that.
 */
function connectInput(
  terminal: Terminal,
  stream: ClientStream,
  { interactive = false, tty = false }: ExecOptions,
  ended: (code: number) => void,
): () => void {
  const ends: (() => void)[] = [];
  if (interactive)
    ends.push(
      terminal.passInput(
        (bytes) => stream.write(bytes),
        () => stream.end(),
        tty,
      ),
    );
  else stream.end();
  if (tty) ends.push(terminal.onResize((columns, rows) => stream.resize(columns || 80, rows || 24)));
  for (const [name, signal] of Object.entries(SIGNALS)) {
    const code = tty ? ENDS[name] : undefined;
    const received = () => (code === undefined ? stream.signal(signal) : ended(code));
    ends.push(terminal.onSignal(name as keyof typeof SIGNALS, received));
  }
  return () => {
    for (const end of ends) end();
  };
}
