/** Waits for the end of an execution, and says meanwhile what it waits for. */
import type { Berth } from '../client/berth.ts';
import { Exit, FAILED, INTERRUPTED, TIMED_OUT } from './terminal/exit.ts';
import type { LiveLine } from './terminal/live-line.ts';
import type { Terminal } from './terminal/terminal.ts';

export interface WaitOptions {
  /** Seconds; undefined: as long as it takes. */
  timeoutS?: number | undefined;
}

/** What ends a command that waits: Ctrl-C, or the timeout. Neither of them ends the execution. */
export class Patience {
  readonly signal: AbortSignal;
  readonly #id: number;
  readonly #interrupted: AbortSignal;
  readonly #timeoutS: number | undefined;

  constructor(terminal: Terminal, id: number, { timeoutS }: WaitOptions) {
    this.#id = id;
    this.#timeoutS = timeoutS;
    this.#interrupted = terminal.interrupted();
    const ends = timeoutS === undefined ? [] : [AbortSignal.timeout(timeoutS * 1_000)];
    this.signal = AbortSignal.any([this.#interrupted, ...ends]);
  }

  /** Runs what waits. Throws Exit once it is to end. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (!this.signal.aborted) throw error;
      const goesOn = `Execution ${this.#id} goes on; berth wait ${this.#id} waits for it again.`;
      if (this.#interrupted.aborted) throw new Exit(INTERRUPTED, goesOn);
      throw new Exit(TIMED_OUT, `It has not ended within ${this.#timeoutS} s. ${goesOn}`);
    }
  }
}

/** Resolves once the execution has ended. Shows in `line` what it waits for, but not how it has failed. */
export async function untilEnded(
  berth: Berth,
  id: number,
  line: LiveLine,
  signal: AbortSignal,
): Promise<void> {
  try {
    for await (const { status, summary, waiting_for } of berth.watch(id, {
      signal,
      trouble: (text) => line.show(text),
    }))
      if (status !== 'error') line.show([`Execution ${id}: ${sentence(summary)}`, ...waiting_for].join(' '));
  } finally {
    line.clear();
  }
}

/** A summary may end with the message of an error. */
const sentence = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`);

/**
 * Throws Exit with the exit code of the monitor service that ended the execution, unless that is 0. Throws
 * Exit with 125 if it ended in another way.
 */
export async function assertEndedWell(berth: Berth, id: number): Promise<void> {
  const { status, error_message } = await berth.execution(id);
  const all = await berth.services(id);
  const codes = all.flatMap(({ description, exit_code }) =>
    description.monitor && exit_code != null ? [exit_code] : [],
  );
  const failed = codes.find((code) => code !== 0);
  if (status === 'error')
    throw new Exit(failed ?? FAILED, `Execution ${id} ended with an error: ${error_message}`);
  if (!codes.includes(0))
    throw new Exit(FAILED, `Execution ${id} was terminated before a monitor service ended.`);
}
