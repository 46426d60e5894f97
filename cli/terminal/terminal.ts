/** What the commands use of the process: its streams, its environment and its terminal. */
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';

export interface Terminal {
  env: NodeJS.ProcessEnv;
  /** Data, for people and for the next program. Resolves once it is taken. */
  out(data: string | Uint8Array): Promise<void>;
  /** Words about what happens. */
  say(line: string): void;
  /** Columns of the output; undefined if it is no terminal. */
  columns: number | undefined;
  /** True if somebody can be asked. */
  isInteractive: boolean;
  /** All of the standard input. */
  input(): Promise<string>;
  /** Asks for a line. What is typed is not shown if `isSecret`. */
  ask(question: string, isSecret?: boolean): Promise<string>;
}

export function terminalOf({ env, stdin, stdout, stderr }: NodeJS.Process): Terminal {
  return {
    env,
    out: (data) =>
      new Promise((resolve, reject) => stdout.write(data, (error) => (error ? reject(error) : resolve()))),
    say: (line) => void stderr.write(`${line}\n`),
    columns: stdout.isTTY ? stdout.columns : undefined,
    isInteractive: stdin.isTTY === true && stderr.isTTY === true,
    input: () => text(stdin),
    async ask(question, isSecret = false) {
      // First, so that the terminal itself shows nothing of a quick answer.
      const lines = createInterface({ input: stdin, ...(!isSecret && { output: stderr }), terminal: true });
      stderr.write(question);
      try {
        return await new Promise<string>((resolve, reject) => {
          lines.once('line', resolve);
          lines.once('close', () => reject(new Error('Nothing was entered.')));
          lines.once('SIGINT', () => reject(new Error('Interrupted.')));
        });
      } finally {
        lines.close();
        if (isSecret) stderr.write('\n');
      }
    },
  };
}
