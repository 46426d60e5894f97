/** The whole terminal, for a text that is drawn again in place until a person leaves. */
import { Exit, INTERRUPTED } from './exit.ts';
import type { Terminal } from './terminal.ts';

/** The other page of the terminal without a cursor, and back: what was on the terminal before stays. */
const ENTER = '\u001b[?1049h\u001b[?25l';
const LEAVE = '\u001b[?25h\u001b[?1049l';
/** To the first column of the first line. */
const HOME = '\u001b[H';
/** Nothing to the right of the cursor, and nothing below it. */
const [CLEAR_LINE, CLEAR_BELOW] = ['\u001b[K', '\u001b[J'];

const CTRL_C = '\u0003';

export class Screen {
  readonly #terminal: Terminal;

  private constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  /** Undefined if the output is not a terminal, or if nobody can leave. */
  static on(terminal: Terminal): Screen | undefined {
    return terminal.isInteractive && terminal.rows !== undefined ? new Screen(terminal) : undefined;
  }

  /** Draws the text at once, and then every `periodMs`, until `q`. Throws Exit at Ctrl-C. */
  async show(text: () => Promise<string>, periodMs: number): Promise<void> {
    const left = new AbortController();
    let isInterrupted = false;
    const end = this.#terminal.onKey((key) => {
      isInterrupted ||= key.includes(CTRL_C);
      if (isInterrupted || key.includes('q')) left.abort();
    });
    try {
      await this.#terminal.out(ENTER);
      await this.#redraw(text, periodMs, left.signal);
    } finally {
      end();
      await this.#terminal.out(LEAVE);
    }
    if (isInterrupted) throw new Exit(INTERRUPTED);
  }

  async #redraw(text: () => Promise<string>, periodMs: number, signal: AbortSignal): Promise<void> {
    const isLeft = new Promise<undefined>((done) => {
      signal.addEventListener('abort', () => done(undefined), { once: true });
    });
    while (!signal.aborted) {
      // A person who leaves does not wait for the answer.
      const shown = await Promise.race([text(), isLeft]);
      if (shown === undefined) return;
      await this.#terminal.out(this.#drawn(shown));
      await this.#terminal.pause(periodMs, signal).catch(() => {});
    }
  }

  /** What goes beyond the last line is not shown. */
  #drawn(text: string): string {
    const lines = text.trimEnd().split('\n').slice(0, this.#terminal.rows);
    return `${HOME}${lines.map((line) => `${line}${CLEAR_LINE}`).join('\n')}${CLEAR_BELOW}`;
  }
}
