/** The command of a copy in a container, and why it has failed. */
import type { Target } from './target.ts';

/** Starts a command in the container, as its own user and without a terminal. */
export type RunCommand = (words: string[]) => Promise<Target>;

const MAX_PROBLEM_LENGTH = 500;
const STDERR = 2;
/** The image lacks the program. */
const NOT_RUN = [126, 127];
/** What GNU tar reports of files that others write meanwhile, with the exit code 1. */
const HARMLESS =
  /: (file changed as we read it|file removed before we read it|File removed before we read it|socket ignored|File shrank by \d+ bytes; padding with zeros)$/;

export class CopyCommand {
  readonly #command: Target;
  /** The first words on its standard error. They come from the container. */
  #words = '';

  constructor(command: Target) {
    this.#command = command;
  }

  /** Its standard output. */
  async *output(): AsyncGenerator<Uint8Array> {
    for await (const { bytes, source } of this.#command.output)
      if (source !== STDERR) yield bytes;
      else if (this.#words.length < MAX_PROBLEM_LENGTH) this.#words += Buffer.from(bytes).toString();
  }

  /** Called once the output has ended. Throws an Error for people if the command has failed. */
  async assertDone(): Promise<void> {
    const code = await this.#command.exitCode();
    if (code === 0) return;
    if (code !== undefined && NOT_RUN.includes(code))
      throw new Error('the image has no shell, or no program that copies require: sh, tar, readlink, mv');
    const lines = this.#words.split('\n').filter((line) => line !== '');
    if (code === 1 && lines.length > 0 && lines.every((line) => HARMLESS.test(line))) return;
    const problem = this.#words
      .slice(0, MAX_PROBLEM_LENGTH)
      .replace(/[\p{C}\s]+/gu, ' ')
      .trim();
    throw new Error(problem || `the copy failed in the container, with exit code ${code}`);
  }
}
