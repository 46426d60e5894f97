/** Terminal of the local commands: writes lines to stderr, and asks yes-or-no questions. */
import { createInterface } from 'node:readline/promises';

export interface Terminal {
  say(line: string): void;
  /** Asks a yes-or-no question. If stdin is not a terminal, the answer is yes. */
  ask(question: string): Promise<boolean>;
}

export const terminal: Terminal = {
  say: (line) => void process.stderr.write(`${line}\n`),
  ask: async (question) => {
    if (!process.stdin.isTTY) {
      terminal.say(`${question} yes (stdin is not a terminal)`);
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
