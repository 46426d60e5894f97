/** Commands of `berth` in this process, each with streams, signals and a terminal of its own. */
import { EventEmitter } from 'node:events';
import { PassThrough, Writable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { run } from '../../../../cli/program.ts';
import { terminalOf } from '../../../../cli/terminal/terminal.ts';
import type { Command, WindowSize } from './process.ts';

const CTRL_C = '\u0003';
/** The pauses of a command are that much shorter. */
const HASTE = 100;

/** With a size, the command runs on a terminal. It shows what is typed, unless the command reads each key. */
export function startInProcess(
  words: readonly string[],
  env: NodeJS.ProcessEnv,
  input: string | undefined,
  size?: WindowSize,
): Command {
  const [isTTY, out, err] = [size !== undefined, [] as Buffer[], [] as Buffer[]];
  const stdin = new PassThrough();
  let [isRaw, hasEnded] = [false, false];
  const setRawMode = (value: boolean) => {
    isRaw = value;
  };
  const show = (data: Buffer | string) => out.push(Buffer.from(data.toString().replaceAll('\n', '\r\n')));
  const sinkOf = (taken: Buffer[]) => {
    const write = (data: Buffer, _: string, done: () => void) => {
      if (isTTY) show(data);
      else taken.push(data);
      done();
    };
    return Object.assign(new Writable({ write }), { isTTY, ...size });
  };
  const own = Object.assign(new EventEmitter(), {
    ...{ env, stdin: Object.assign(stdin, { isTTY, setRawMode }) },
    ...{ stdout: sinkOf(out), stderr: sinkOf(err) },
  });
  const terminal = Object.assign(terminalOf(own), {
    pause: (ms: number, signal: AbortSignal) => pause(ms / HASTE, undefined, { signal }),
  });
  const signal = (name: NodeJS.Signals) => {
    if (!hasEnded && !own.emit(name)) throw new Error(`${name} would kill berth ${words.join(' ')}`);
  };
  const type = (keys: string) => {
    if (!isRaw) show(keys === CTRL_C ? '^C' : keys);
    if (!isRaw && keys === CTRL_C) signal('SIGINT');
    else stdin.write(keys);
  };
  if (!isTTY) stdin.end(input);
  const ended = run(words, terminal).then((code) => {
    hasEnded = true;
    return { code, out: Buffer.concat(out), err: Buffer.concat(err).toString() };
  });
  return {
    ...{ type, signal, ended, interrupt: () => signal('SIGINT') },
    ...{ out: () => Buffer.concat(out).toString(), err: () => Buffer.concat(err).toString() },
  };
}
