/** The command line as people and scripts use it: a process for each command, with its own home folder. */
import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { programPath } from '../hosts/process.ts';
import { NODE_COMPILE_CACHE } from '../tools/tool.ts';

const MAIN = programPath('cli/main.ts');

export interface Ended<Out = string> {
  code: number | null;
  out: Out;
  err: string;
}

/** How a program left its terminal, whose modes are in the form of stty. */
export interface LeftTerminal {
  pid: number;
  code: number;
  before: string;
  after: string;
}

/** A command that has not ended yet. */
export interface Command {
  /** Its output so far. */
  out(): string;
  err(): string;
  /** As Ctrl-C does. */
  interrupt(): void;
  signal(signal: NodeJS.Signals): void;
  ended: Promise<Ended<Buffer>>;
}

export interface TerminalOptions {
  answers?: readonly (readonly [prompt: string, answer: string])[];
  columns?: number;
}

export class CommandLine {
  readonly #env: NodeJS.ProcessEnv;

  /** `home`: where its contexts are. */
  constructor(home: string, env: NodeJS.ProcessEnv = {}) {
    const { PATH } = process.env;
    this.#env = { PATH, HOME: home, NODE_COMPILE_CACHE, ...env };
  }

  /** Runs `berth` with these words, without a terminal. */
  async run(words: readonly string[], input = ''): Promise<Ended> {
    const { out, ...ended } = await this.start(words, input).ended;
    return { ...ended, out: out.toString() };
  }

  /** Logs in by password, which must succeed. */
  async logIn(url: string, password: string, username = 'admin'): Promise<void> {
    const { code, err } = await this.run(['login', url, '--user', username, '--password-stdin'], password);
    if (code !== 0) throw new Error(`berth login ended with ${code}: ${err}`);
  }

  start(words: readonly string[], input = ''): Command {
    const child = spawn(process.execPath, [MAIN, ...words], { env: this.#env, stdio: 'pipe' });
    child.stdin.on('error', () => {}).end(input);
    return watched(child);
  }

  /** Runs `berth` in a line of bash, followed by `rest`. The exit code is that of `berth`. */
  async piped(words: readonly string[], rest: string): Promise<Ended> {
    const line = `${quoted([process.execPath, MAIN, ...words])} ${rest}; exit \${PIPESTATUS[0]}`;
    const child = spawn('bash', ['-c', line], { env: this.#env, stdio: 'pipe' });
    child.stdin.end();
    const { out, ...ended } = await watched(child).ended;
    return { ...ended, out: out.toString() };
  }

  /** Runs `berth` on a terminal until it has printed `prompt`, and then calls `end` with its process. */
  async onTerminalUntil(
    words: readonly string[],
    prompt: string,
    end: (pid: number, terminal: ChildProcess) => void,
  ): Promise<LeftTerminal> {
    const program = `sh -c 'echo pid=$$; exec "$@"' sh ${quoted([process.execPath, MAIN, ...words])}`;
    const command = `echo before=$(stty -g); ${program}; echo code=$?; echo after=$(stty -g)`;
    const args = ['--quiet', '--command', command, '/dev/null'];
    const child = spawn('script', args, { env: { ...this.#env, SHELL: '/bin/sh' }, stdio: 'pipe' });
    const running = watched(child);
    const found = (name: string) => new RegExp(`^${name}=(\\S+)`, 'm').exec(running.out())?.[1] ?? '';
    child.stdout.on('data', function send() {
      if (!running.out().includes(prompt)) return;
      child.stdout.off('data', send);
      end(Number(found('pid')), child);
    });
    await running.ended;
    return {
      pid: Number(found('pid')),
      code: Number(found('code')),
      before: found('before'),
      after: found('after'),
    };
  }

  /**
   * Runs `berth` on a terminal. After each prompt, the answer is typed. The output has all that the terminal
   * shows.
   */
  async onTerminal(
    words: readonly string[],
    { answers = [], columns = 80 }: TerminalOptions = {},
  ): Promise<Ended> {
    const program = quoted([process.execPath, MAIN, ...words]);
    const command = `stty columns ${columns}; exec ${program}`;
    const args = ['--quiet', '--return', '--command', command, '/dev/null'];
    const child = spawn('script', args, { env: this.#env, stdio: 'pipe' });
    const running = watched(child);
    const left = [...answers];
    child.stdout.on('data', () => {
      const [[prompt, answer] = ['', '']] = left;
      if (prompt === '' || !running.out().includes(prompt)) return;
      left.shift();
      child.stdin.write(`${answer}\r`);
    });
    const { out, ...ended } = await running.ended;
    return { ...ended, out: out.toString() };
  }
}

const quoted = (words: readonly string[]): string => words.map((word) => `'${word}'`).join(' ');

function watched(child: ChildProcessWithoutNullStreams): Command {
  const [out, err]: [Buffer[], Buffer[]] = [[], []];
  child.stdout.on('data', (data: Buffer) => out.push(data));
  child.stderr.on('data', (data: Buffer) => err.push(data));
  const ended = new Promise<number | null>((done, fail) => child.on('close', done).on('error', fail));
  return {
    out: () => Buffer.concat(out).toString(),
    err: () => Buffer.concat(err).toString(),
    interrupt: () => child.kill('SIGINT'),
    signal: (signal) => child.kill(signal),
    ended: ended.then((code) => ({
      ...{ code, out: Buffer.concat(out), err: Buffer.concat(err).toString() },
    })),
  };
}
