/** What the commands use of the process: its streams, its environment and its terminal. */
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { buffer, text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { onOneLine } from './table.ts';

interface Window {
  isTTY?: boolean;
  columns?: number;
  rows?: number;
}

/** The parts of a process that a terminal is made of. */
export interface OwnProcess {
  env: NodeJS.ProcessEnv;
  stdin: Readable & { isTTY?: boolean; setRawMode?(isRaw: boolean): unknown; unref?(): unknown };
  stdout: Writable & Window;
  stderr: Writable & Window;
  on(signal: NodeJS.Signals, received: () => void): unknown;
  once(signal: NodeJS.Signals, received: () => void): unknown;
  off(signal: NodeJS.Signals, received: () => void): unknown;
}

export interface Terminal {
  env: NodeJS.ProcessEnv;
  /** Data, for people and for the next program. Resolves once it is taken. */
  out(data: string | Uint8Array): Promise<void>;
  /** Data that another program has written to its standard error. Resolves once it is taken. */
  err(data: Uint8Array): Promise<void>;
  /** Words about what happens. What could act on the terminal becomes blanks. */
  say(text: string): void;
  /** Words that do not end a line. */
  sayPart(text: string): void;
  /** Whether the output goes to a terminal. */
  isTerminal: boolean;
  /** Columns of the output; undefined if it is not a terminal. */
  columns: number | undefined;
  /** Lines of the output; undefined if it is not a terminal. */
  rows: number | undefined;
  /** Columns of what is said; undefined if it is not a terminal. */
  wordsColumns: number | undefined;
  /** Aborted by the first Ctrl-C. The second one ends the process. */
  interrupted(): AbortSignal;
  /** True if somebody can be asked. */
  isInteractive: boolean;
  /** Calls `pressed` with each key, Ctrl-C included, until the function that is returned is called. */
  onKey(pressed: (key: string) => void): () => void;
  /**
   * Passes the standard input on as it comes: no more is read until `take` resolves. With `isRaw`, each key
   * is passed on at once, Ctrl-C included. Returns a function that ends that.
   */
  passInput(take: (bytes: Uint8Array) => Promise<void>, ended: () => void, isRaw: boolean): () => void;
  /** Calls `changed` with each new size of the terminal, until the function that is returned is called. */
  onResize(changed: (columns: number, rows: number) => void): () => void;
  /** Calls `received` in place of what the signal does, until the function that is returned is called. */
  onSignal(signal: NodeJS.Signals, received: () => void): () => void;
  /** All of the standard input. */
  input(): Promise<string>;
  /** The same, byte for byte. */
  inputBytes(): Promise<Uint8Array>;
  /** Asks for a line. What is typed is not shown if `isSecret`. */
  ask(question: string, isSecret?: boolean): Promise<string>;
  /** Resolves after so long. Rejects if `signal` is aborted before. */
  pause(ms: number, signal: AbortSignal): Promise<void>;
}

/** Some terminals do not tell their width, and have 0 columns. */
const widthOf = ({ isTTY, columns = 0 }: Window): number | undefined =>
  isTTY && columns > 0 ? columns : undefined;

export function terminalOf(process: OwnProcess): Terminal {
  const { env, stdin, stdout, stderr } = process;
  return {
    env,
    out: (data) =>
      new Promise((resolve, reject) => stdout.write(data, (error) => (error ? reject(error) : resolve()))),
    err: (data) =>
      new Promise((resolve, reject) => stderr.write(data, (error) => (error ? reject(error) : resolve()))),
    say: (words) => void stderr.write(`${words.split('\n').map(onOneLine).join('\n')}\n`),
    sayPart: (text) => void stderr.write(text),
    isTerminal: stdout.isTTY === true,
    get columns() {
      return widthOf(stdout);
    },
    get rows() {
      return stdout.isTTY ? stdout.rows : undefined;
    },
    wordsColumns: widthOf(stderr),
    interrupted() {
      const controller = new AbortController();
      process.once('SIGINT', () => controller.abort());
      return controller.signal;
    },
    isInteractive: stdin.isTTY === true && stderr.isTTY === true,
    onKey(pressed) {
      const listen = (data: Buffer) => pressed(data.toString());
      stdin.setRawMode?.(true);
      stdin.on('data', listen).resume();
      return () => {
        stdin.setRawMode?.(false);
        stdin.off('data', listen).pause();
      };
    },
    passInput(take, ended, isRaw) {
      if (isRaw) stdin.setRawMode?.(true);
      let taken: Promise<void> = Promise.resolve();
      const listen = (bytes: Buffer) => {
        stdin.pause();
        taken = take(bytes).then(() => void stdin.resume());
      };
      const end = () => void taken.then(ended);
      // A terminal that is gone can't be read.
      const failed = ({ message }: Error) => {
        stderr.write(`The standard input can't be read: ${message}\n`);
        end();
      };
      stdin.on('data', listen).once('end', end).on('error', failed);
      return () => {
        stdin.off('data', listen).off('end', end).pause();
        if (isRaw) stdin.setRawMode?.(false);
        // A standard input that is still open would keep the process running.
        stdin.unref?.();
      };
    },
    onResize(changed) {
      const listen = () => changed(stdout.columns ?? 0, stdout.rows ?? 0);
      stdout.on('resize', listen);
      return () => void stdout.off('resize', listen);
    },
    onSignal(signal, received) {
      process.on(signal, received);
      return () => void process.off(signal, received);
    },
    input: () => text(stdin),
    inputBytes: () => buffer(stdin),
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
    pause: (ms, signal) => pause(ms, undefined, { signal }),
  };
}
