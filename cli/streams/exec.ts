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
  const size = { columns: terminal.columns || 80, rows: terminal.rows || 24 };
  const request = { words, ...(tty && { terminal: size }), ...(user !== undefined && { user }) };
  const stream = await berth.exec(service, request);
  const stop = connectInput(terminal, stream, interactive, tty);
  try {
    await printOutput(terminal, stream, tty);
  } finally {
    stop();
    stream.close();
  }
  throw new Exit(stream.exitCode ?? 0);
}

async function printOutput(terminal: Terminal, stream: ClientStream, tty: boolean): Promise<void> {
  for await (const chunk of stream.output()) {
    if (tty) await terminal.out(chunk);
    else if (chunk[0] === 2) await terminal.err(chunk.subarray(1));
    else await terminal.out(chunk.subarray(1));
  }
}

/** Passes on input, signals and sizes. Returns a function that ends that. */
function connectInput(
  terminal: Terminal,
  stream: ClientStream,
  interactive: boolean,
  tty: boolean,
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
  for (const [name, signal] of Object.entries(SIGNALS))
    ends.push(terminal.onSignal(name as keyof typeof SIGNALS, () => stream.signal(signal)));
  return () => {
    for (const end of ends) end();
  };
}
