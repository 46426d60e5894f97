/** Owns how the local commands talk to the person who runs them: plain lines on stderr, yes or no from a terminal. */
import { createInterface } from 'node:readline/promises';

export interface Terminal {
  say(line: string): void;
  /** Puts a yes-or-no question. Where nobody can answer, it is said and taken as agreed. */
  ask(question: string): Promise<boolean>;
}

export const terminal: Terminal = {
  say: (line) => void process.stderr.write(`${line}\n`),
  ask: async (question) => {
    if (!process.stdin.isTTY) {
      terminal.say(`${question} yes (stdin is no terminal)`);
      return true;
    }
    const prompt = createInterface({ input: process.stdin, output: process.stderr });
    try {
      return /^(y|yes)?$/i.test((await prompt.question(`${question} [Y/n] `)).trim());
    } finally {
      prompt.close();
    }
  },
};
