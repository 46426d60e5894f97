/** What `berth cp` says: how far it is, and what was left out. */
import { sizeText } from '../../shared/sizes.ts';
import { LiveLine } from '../terminal/live-line.ts';
import type { Terminal } from '../terminal/terminal.ts';

const SHOW_MS = 200;
/** Further ones are only counted. */
const MAX_NAMED = 20;

export class CopyReport {
  readonly #terminal: Terminal;
  readonly #isQuiet: boolean;
  readonly #line: LiveLine;
  readonly #startMs = performance.now();
  #shownMs = 0;
  #bytes = 0;
  #left = 0;

  constructor(terminal: Terminal, isQuiet: boolean) {
    this.#terminal = terminal;
    this.#isQuiet = isQuiet;
    this.#line = new LiveLine(terminal);
  }

  /** Counts content of files, without what an archive adds. */
  passed(bytes: number): void {
    this.#bytes += bytes;
    const now = performance.now();
    if (this.#isQuiet || this.#terminal.wordsColumns === undefined || now - this.#shownMs < SHOW_MS) return;
    this.#shownMs = now;
    this.#line.show(this.#text());
  }

  /** `name`: free of control characters. */
  leftOut(name: string, reason: string): void {
    this.#left += 1;
    if (this.#left > MAX_NAMED) return;
    this.clear();
    this.#terminal.say(`Left out: ${name} ${reason}.`);
  }

  clear(): void {
    this.#line.clear();
  }

  done(): void {
    this.clear();
    const further = this.#left - MAX_NAMED;
    if (further > 0) this.#terminal.say(`Left out: ${further} more.`);
    if (!this.#isQuiet) this.#terminal.say(`Copied ${this.#text()}.`);
  }

  #text(): string {
    const seconds = Math.max(0.001, (performance.now() - this.#startMs) / 1_000);
    return `${sizeText(this.#bytes)}, ${sizeText(Math.round(this.#bytes / seconds))}/s`;
  }
}
