/** The command line as people and scripts use it: a process for each command, with its own home folder. */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { buffer, text } from 'node:stream/consumers';
import { NODE_COMPILE_CACHE } from '../tools/tool.ts';

const MAIN = resolve(import.meta.dirname, '../../../cli/main.ts');

export interface Ended<Out = string> {
  code: number | null;
  out: Out;
  err: string;
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
    const { out, ...ended } = await this.runForBytes(words, input);
    return { ...ended, out: out.toString() };
  }

  runForBytes(words: readonly string[], input = ''): Promise<Ended<Buffer>> {
    const child = spawn(process.execPath, [MAIN, ...words], { env: this.#env, stdio: 'pipe' });
    child.stdin.on('error', () => {}).end(input);
    return endOf(child);
  }

  /**
   * Runs `berth` on a terminal. After each prompt, the answer is typed. The output has all that the terminal
   * shows.
   */
  async onTerminal(
    words: readonly string[],
    { answers = [], columns = 80 }: TerminalOptions = {},
  ): Promise<Ended> {
    const program = [process.execPath, MAIN, ...words].map((word) => `'${word}'`).join(' ');
    const command = `stty columns ${columns}; exec ${program}`;
    const args = ['--quiet', '--return', '--command', command, '/dev/null'];
    const child = spawn('script', args, { env: this.#env, stdio: 'pipe' });
    const left = [...answers];
    let shown = '';
    child.stdout.on('data', (data: Buffer) => {
      shown += data.toString();
      const [[prompt, answer] = ['', '']] = left;
      if (prompt === '' || !shown.includes(prompt)) return;
      left.shift();
      child.stdin.write(`${answer}\r`);
    });
    const { out, ...ended } = await endOf(child);
    return { ...ended, out: out.toString() };
  }
}

async function endOf(child: ChildProcessWithoutNullStreams): Promise<Ended<Buffer>> {
  const ended = new Promise<number | null>((done, fail) => child.on('close', done).on('error', fail));
  const [out, err, code] = await Promise.all([buffer(child.stdout), text(child.stderr), ended]);
  return { code, out, err };
}
