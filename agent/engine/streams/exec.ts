/** Runs a command in a container as the target of a stream. */
import type { Duplex } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import type Docker from 'dockerode';
import type { Exec, StreamSignal, TerminalSize } from '../../../shared/streams/targets.ts';
import { statusOf, wrapErrors } from '../docker-error.ts';
import { endCommand, isAlive, signalCommand } from '../processes/command-processes.ts';
import type { Running } from '../processes/container-processes.ts';
import type { BegunCommands } from './begun-commands.ts';
import { splitOutput, wholeOutput } from './exec-output.ts';
import { write } from './socket-target.ts';
import type { Piece, Target } from './target.ts';

/** The engine reports the end of a command's output shortly before its exit code. */
const EXIT_LOOKS = 50;
/** Nor does it know the process yet when the first output arrives. */
const PROCESS_LOOKS = 500;
/** How long a container may take to end after a command in it was killed. */
const DEATH_LOOKS = 25;
const LOOK_MS = 20;
/** The exit code of SIGKILL. */
const KILLED = 137;
const MAX_SIGNALS = 8;

/** Throws EngineError if the engine refuses the command. `begun` has it until it has ended. */
export async function startExec(
  docker: Docker,
  container: Running,
  { words, terminal, user }: Exec,
  begun?: BegunCommands,
): Promise<Target> {
  const Tty = terminal !== undefined;
  const exec = await wrapErrors(
    docker.getContainer(container.id).exec({
      Cmd: [...words],
      AttachStdin: true,
      AttachStdout: true,
      AttachStderr: true,
      Tty,
      ...(user !== undefined && { User: user }),
    }),
  );
  const ended = begun?.begin(exec.id) ?? (() => {});
  const started = exec.start({ hijack: true, stdin: true, Tty });
  const socket = await wrapErrors(started).catch((error: unknown) => {
    ended();
    throw error;
  });
  const command = new Command(exec, container, socket as Duplex, { program: words[0] ?? '', Tty, ended });
  if (terminal) command.resize(terminal);
  return command;
}

interface CommandOptions {
  /** The first of its words. */
  program: string;
  /** Whether it has a terminal. */
  Tty: boolean;
  ended: () => void;
}

class Command implements Target {
  readonly output: Target['output'];
  readonly #exec: Docker.Exec;
  readonly #container: Running;
  readonly #socket: Duplex;
  readonly #ended: () => void;
  #hasEnded = false;
  /** Set if the runtime could not start the command. */
  #startFailureCode: number | undefined;
  #signals: Promise<void> = Promise.resolve();
  #waitingSignals = 0;
  /** The latest that was requested and is not yet applied. */
  #size: TerminalSize | undefined;

  constructor(
    exec: Docker.Exec,
    container: Running,
    socket: Duplex,
    { program, Tty, ended }: CommandOptions,
  ) {
    this.#ended = ended;
    this.#exec = exec;
    this.#container = container;
    this.#socket = socket;
    this.output = withStartFailure(Tty ? wholeOutput(socket) : splitOutput(socket), program, {
      hasRun: () => this.#hasRun(),
      failed: ({ exitCode }) => {
        this.#startFailureCode = exitCode;
      },
    });
    socket.on('error', () => socket.destroy());
  }

  write(bytes: Uint8Array): Promise<void> {
    return write(this.#socket, bytes);
  }

  end(): void {
    this.#socket.end();
  }

  /** Throws if the command has ended with its container. */
  async exitCode(): Promise<number> {
    for (let look = 0; look < EXIT_LOOKS; look += 1) {
      const { Running, ExitCode } = await this.#inspect();
      if (!Running && ExitCode !== null) {
        this.#hasEnded = true;
        this.#ended();
        if (await this.#hasContainerEnded(ExitCode)) throw new Error('the service has ended');
        return this.#startFailureCode ?? ExitCode;
      }
      await delay(LOOK_MS);
    }
    throw new Error('the engine lost its connection to the command');
  }

  /** Whether the command has had a process. The engine reports the failure of a start after its words. */
  async #hasRun(): Promise<boolean> {
    for (let look = 0; look < EXIT_LOOKS; look += 1) {
      const { Running, ExitCode, Pid } = await this.#inspect();
      if (Pid > 0 || (!Running && ExitCode !== null)) return Pid > 0;
      await delay(LOOK_MS);
    }
    return true;
  }

  /** The engine forgets the commands of a container that has ended: they were killed with it. */
  #inspect(): Promise<Pick<Docker.ExecInspectInfo, 'Running' | 'ExitCode' | 'Pid'>> {
    const inspected = this.#exec.inspect().catch(async (error: unknown) => {
      if (statusOf(error) !== 404 || !(await this.#hasContainerEnded(KILLED))) throw error;
      return { Running: false, ExitCode: KILLED, Pid: this.#container.pid };
    });
    return wrapErrors(inspected);
  }

  /**
   * The kernel ends the first process of a container last: a command that was killed may have ended a moment
   * before.
   */
  async #hasContainerEnded(exitCode: number): Promise<boolean> {
    for (let look = exitCode === KILLED ? 0 : DEATH_LOOKS; look < DEATH_LOOKS; look += 1) {
      if (!(await isAlive(this.#container))) return true;
      await delay(LOOK_MS);
    }
    return !(await isAlive(this.#container));
  }

  /** One request to the engine at a time; of several sizes that come meanwhile, the latest counts. */
  resize(size: TerminalSize): void {
    const isBusy = this.#size !== undefined;
    this.#size = size;
    if (!isBusy) void this.#applySizes();
  }

  /** The engine refuses it until the command runs, and once it has ended. */
  async #applySizes(): Promise<void> {
    for (let look = 0; look < PROCESS_LOOKS && this.#size && !this.#hasEnded; look += 1) {
      const size = this.#size;
      const isApplied = await this.#exec.resize({ w: size.columns, h: size.rows }).then(
        () => true,
        () => false,
      );
      await delay(LOOK_MS);
      if (isApplied && this.#size === size) break;
    }
    this.#size = undefined;
  }

  /** One after the other; beyond a few that wait, further ones are dropped. */
  signal(signal: StreamSignal): void {
    if (this.#waitingSignals >= MAX_SIGNALS) return;
    this.#waitingSignals += 1;
    this.#signals = this.#signals
      .then(() => this.#withProcess((pid) => signalCommand(this.#container, pid, `SIG${signal}`)))
      .finally(() => {
        this.#waitingSignals -= 1;
      });
  }

  destroy(): void {
    this.#size = undefined;
    this.#socket.destroy();
    if (!this.#hasEnded) void this.#withProcess((pid) => endCommand(this.#container, pid)).then(this.#ended);
  }

  /** Nothing is left to do for a command that has ended, or whose container is gone. */
  async #withProcess(run: (pid: number) => Promise<void>): Promise<void> {
    for (let look = 0; look < PROCESS_LOOKS; look += 1) {
      const info = await this.#exec.inspect().catch(() => undefined);
      if (!info || (!info.Running && info.ExitCode !== null)) return;
      if (info.Running && info.Pid > 0) return run(info.Pid);
      await delay(LOOK_MS);
    }
  }
}

const BEGINNING = 'OCI runtime exec failed: ';
const MAX_WORDS = 4_096;
const STDERR = 2;
const NOT_FOUND = 127;
const NOT_EXECUTABLE = 126;

/**
 * Why the runtime could not start a command, in words for people. The runtime reports it as output of the
 * command, with an exit code of the engine.
 */
interface StartFailure {
  text: string;
  /** As shells have it. */
  exitCode: number;
}

/**
 * The output, with the words of the runtime replaced by those for people, and a call of `failed`. `hasRun`
 * decides whether they are the runtime's: a command may write the same.
 */
export async function* withStartFailure(
  output: AsyncIterable<Piece>,
  program: string,
  { hasRun, failed }: { hasRun: () => Promise<boolean>; failed: (failure: StartFailure) => void },
): AsyncGenerator<Piece> {
  let isFirst = true;
  let words: string | undefined;
  let isTerminal = false;
  for await (const piece of output) {
    const text = isFirst || words !== undefined ? Buffer.from(piece.bytes).toString() : '';
    if (isFirst && text.startsWith(BEGINNING) && !(await hasRun())) {
      words = '';
      isTerminal = piece.source === undefined;
    }
    isFirst = false;
    if (words === undefined) yield piece;
    else words = (words + text).slice(0, MAX_WORDS);
  }
  if (words === undefined) return;
  const failure = startFailure(program, words);
  failed(failure);
  const bytes = Buffer.from(`${failure.text}${isTerminal ? '\r\n' : '\n'}`);
  yield isTerminal ? { bytes } : { bytes, source: STDERR };
}

/** What the words of the runtime mean. */
export function startFailure(program: string, words: string): StartFailure {
  const isOfFolder = /\bcwd\b|chdir/.test(words);
  if (!isOfFolder && /executable file not found|no such file or directory/.test(words))
    return { text: `${program}: there is no such program in the container`, exitCode: NOT_FOUND };
  if (!isOfFolder && /permission denied/.test(words))
    return { text: `${program}: this may not be run as a program`, exitCode: NOT_EXECUTABLE };
  const reason = words.slice(BEGINNING.length).replace(/\s+/g, ' ').trim();
  return { text: `${program}: cannot be started: ${reason}`, exitCode: NOT_EXECUTABLE };
}
