/** Says what a command waits for: on a terminal in one line that changes, else in a line for each change. */
import { cut, onOneLine } from './table.ts';
import type { Terminal } from './terminal.ts';

/** Back to the first column, and nothing to the right of it. */
const CLEAR = '\r\u001b[K';

/** Without a terminal, seconds that pass are not worth a line. */
const DELAY = /\bin \d+ s\b/g;

export class LiveLine {
  readonly #terminal: Terminal;
  #shown = '';

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  show(text: string): void {
    const line = onOneLine(text);
    const { wordsColumns } = this.#terminal;
    const shown = wordsColumns === undefined ? line.replaceAll(DELAY, '') : line;
    if (shown === this.#shown) return;
    this.#shown = shown;
    if (wordsColumns === undefined) this.#terminal.say(line);
    // One column less, since some terminals go to the next line when the last one is filled.
    else this.#terminal.sayPart(`${CLEAR}${cut(line, wordsColumns - 1)}`);
  }

  /** Before anything else is written to the terminal. */
  clear(): void {
    if (this.#shown !== '' && this.#terminal.wordsColumns !== undefined) this.#terminal.sayPart(CLEAR);
    this.#shown = '';
  }
}
