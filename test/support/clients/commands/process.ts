/** Commands of `berth` as real processes, also in a line of bash and on a real terminal. */
import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { programPath } from '../../hosts/process.ts';

const MAIN = programPath('cli/main.ts');

export interface Ended<Out = string> {
  code: number | null;
  out: Out;
  err: string;
}

/** A command that has not ended yet. On a terminal, the output has all that the terminal shows. */
export interface Command {
  /** Its output so far. */
  out(): string;
  err(): string;
  type(keys: string): void;
  /** As Ctrl-C does. */
  interrupt(): void;
  signal(signal: NodeJS.Signals): void;
  ended: Promise<Ended<Buffer>>;
}

export interface WindowSize {
  columns: number;
  rows: number;
}

/** How a program left its terminal, whose modes are in the form of stty. */
export interface LeftTerminal {
  pid: number;
  code: number;
  before: string;
  after: string;
}

/** With a size, the command runs on a terminal. */
export function startProcess(
  words: readonly string[],
  env: NodeJS.ProcessEnv,
  input: string | undefined,
  size?: WindowSize,
): Command {
  if (size) {
    return onTerminal(`stty columns ${size.columns} rows ${size.rows}; exec ${quoted(words)}`, env);
  }
  const child = spawn(process.execPath, [MAIN, ...words], { env, stdio: 'pipe' });
  child.stdin.on('error', () => {}).end(input);
  return watched(child);
}

/** Runs a command of a shell on a terminal. */
export const onTerminal = (command: string, env: NodeJS.ProcessEnv): Command =>
  watched(
    spawn('script', ['--quiet', '--return', '--command', command, '/dev/null'], { env, stdio: 'pipe' }),
  );

/** Runs `berth` in a line of bash, followed by `rest`. The exit code is that of `berth`. */
export function piped(words: readonly string[], env: NodeJS.ProcessEnv, rest: string): Command['ended'] {
  const child = spawn('bash', ['-c', `${quoted(words)} ${rest}; exit \${PIPESTATUS[0]}`], {
    env,
    stdio: 'pipe',
  });
  child.stdin.end();
  return watched(child).ended;
}

/** Runs `berth` on a terminal until it has printed `prompt`, and then calls `end` with its process. */
export async function onTerminalUntil(
  words: readonly string[],
  env: NodeJS.ProcessEnv,
  prompt: string,
  end: (pid: number, terminal: ChildProcess) => void,
): Promise<LeftTerminal> {
  const program = `sh -c 'echo pid=$$; exec "$@"' sh ${quoted(words)}`;
  const command = `echo before=$(stty -g); ${program}; echo code=$?; echo after=$(stty -g)`;
  const args = ['--quiet', '--command', command, '/dev/null'];
  const child = spawn('script', args, { env: { ...env, SHELL: '/bin/sh' }, stdio: 'pipe' });
  const running = watched(child);
  const found = (name: string) => new RegExp(`^${name}=(\\S+)`, 'm').exec(running.out())?.[1] ?? '';
  child.stdout.on('data', function send() {
    if (!running.out().includes(prompt)) return;
    child.stdout.off('data', send);
    end(Number(found('pid')), child);
  });
  await running.ended;
  return {
    ...{ pid: Number(found('pid')), code: Number(found('code')) },
    ...{ before: found('before'), after: found('after') },
  };
}

/** `berth` with these words, for a shell. */
const quoted = (words: readonly string[]): string =>
  [process.execPath, MAIN, ...words].map((word) => `'${word}'`).join(' ');

function watched(child: ChildProcessWithoutNullStreams): Command {
  const [out, err]: [Buffer[], Buffer[]] = [[], []];
  child.stdout.on('data', (data: Buffer) => out.push(data));
  child.stderr.on('data', (data: Buffer) => err.push(data));
  const ended = new Promise<number | null>((done, fail) => child.on('close', done).on('error', fail));
  return {
    out: () => Buffer.concat(out).toString(),
    err: () => Buffer.concat(err).toString(),
    type: (keys) => void child.stdin.write(keys),
    interrupt: () => child.kill('SIGINT'),
    signal: (signal) => child.kill(signal),
    ended: ended.then((code) => ({ code, out: Buffer.concat(out), err: Buffer.concat(err).toString() })),
  };
}
