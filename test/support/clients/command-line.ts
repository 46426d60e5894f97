/**
 * The command line as people and scripts use it, with a home folder for its contexts. Each command runs in
 * this process. On real hosts, or if a test asks for it, each is a real process.
 */
import type { ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, expect } from 'vitest';
import type { Host } from '../hosts/hosts.ts';
import { atProcessEnd } from '../hosts/process.ts';
import { eventually } from '../tools/eventually.ts';
import { NODE_COMPILE_CACHE } from '../tools/tool.ts';
import { startInProcess } from './commands/in-process.ts';
import {
  type Command,
  type Ended,
  type LeftTerminal,
  onTerminalUntil,
  piped,
  startProcess,
  type WindowSize,
} from './commands/process.ts';

export interface TerminalOptions extends Partial<WindowSize> {
  answers?: readonly (readonly [prompt: string, answer: string])[];
}

const HOMES = join(tmpdir(), `berth-homes-${randomUUID()}`);
atProcessEnd(() => rmSync(HOMES, { recursive: true, force: true }));

/** The path of a home folder, which the first login makes. */
export const newHome = (): string => join(HOMES, randomUUID());

/** The command line of the administrator, logged in before the tests of a suite. */
export function adminLine(host: () => Host, env?: NodeJS.ProcessEnv, home?: string): CommandLine {
  const line = new CommandLine(home, env);
  beforeAll(() => line.logIn(host().url(), host().adminPassword));
  return line;
}

export class CommandLine {
  readonly home: string;
  readonly #env: NodeJS.ProcessEnv;
  readonly #start: typeof startProcess;

  /** `home`: where its contexts are. */
  constructor(
    home = newHome(),
    env: NodeJS.ProcessEnv = {},
    isProcess = process.env.BERTH_TEST_HOSTS === 'real',
  ) {
    this.home = home;
    this.#env = { PATH: process.env.PATH, HOME: home, NODE_COMPILE_CACHE, ...env };
    this.#start = isProcess ? startProcess : startInProcess;
  }

  /** Runs `berth` with these words, without a terminal. */
  async run(words: readonly string[], input = ''): Promise<Ended> {
    return asText(await this.start(words, input).ended);
  }

  /** The standard output of a command that succeeds and has nothing to say. */
  async outOf(words: readonly string[], input = ''): Promise<string> {
    const { code, out, err } = await this.run(words, input);
    expect([code, err]).toEqual([0, '']);
    return out;
  }

  /** What a command prints with `--json`. */
  async json(words: readonly string[], input = '') {
    return JSON.parse(await this.outOf([...words, '--json'], input));
  }

  /** The words of a command that fails and prints nothing. */
  async refusal(words: readonly string[], input = ''): Promise<string> {
    const { code, out, err } = await this.run(words, input);
    expect([code, out]).toEqual([125, '']);
    return err;
  }

  /** Logs in by password, which must succeed. */
  async logIn(url: string, password: string, username = 'admin'): Promise<void> {
    const { code, err } = await this.run(['login', url, '--user', username, '--password-stdin'], password);
    if (code !== 0) throw new Error(`berth login ended with ${code}: ${err}`);
  }

  start(words: readonly string[], input = ''): Command {
    return this.#start(words, this.#env, input);
  }

  /** On a terminal, at which keys are typed. */
  startOnTerminal(words: readonly string[], { columns = 80, rows = 24 }: Partial<WindowSize> = {}): Command {
    return this.#start(words, this.#env, undefined, { columns, rows });
  }

  /** Runs `berth` on a terminal. After each prompt, the answer is typed. */
  async onTerminal(
    words: readonly string[],
    { answers = [], ...size }: TerminalOptions = {},
  ): Promise<Ended> {
    const command = this.startOnTerminal(words, size);
    let hasEnded = false;
    const ended = command.ended.finally(() => {
      hasEnded = true;
    });
    for (const [prompt, answer] of answers) {
      await eventually(() => hasEnded || command.out().includes(prompt));
      if (!hasEnded) command.type(`${answer}\r`);
    }
    return asText(await ended);
  }

  /** Runs a real `berth` in a line of bash, followed by `rest`. The exit code is that of `berth`. */
  async piped(words: readonly string[], rest: string): Promise<Ended> {
    return asText(await piped(words, this.#env, rest));
  }

  /** Runs a real `berth` on a terminal until it has printed `prompt`. Then calls `end` with its process. */
  onTerminalUntil(
    words: readonly string[],
    prompt: string,
    end: (pid: number, terminal: ChildProcess) => void,
  ): Promise<LeftTerminal> {
    return onTerminalUntil(words, this.#env, prompt, end);
  }
}

const asText = ({ out, ...ended }: Ended<Buffer>): Ended => ({ ...ended, out: out.toString() });
