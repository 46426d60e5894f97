/**
 * Checks a container by a command that the engine runs in it: the description's, or that of the image's own
 * HEALTHCHECK. The engine cannot end a command. Where the agent reaches the processes of the container, it
 * ends a command that takes too long, and what any command has left behind; elsewhere it begins no other
 * command while the first one runs.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type Docker from 'dockerode';
import { engineError, statusOf, wrapErrors } from '../docker-error.ts';
import { EngineError } from '../engine.ts';
import type { Finding } from './judge.ts';
import type { Target } from './target.ts';

/** Exit codes of the engine for a program that is missing or can't be run. */
const UNUSABLE = [126, 127];
const ENGINE_MS = 20_000;
/** The engine reports the exit of a command some time after the end of its output. */
const EXIT_PAUSE_MS = 20;
/** Commands of an earlier agent that are looked at. */
const MAX_EARLIER = 20;

/** The command of an image's own check. Undefined if the image has none. */
export async function imageCommand(docker: Docker, image: string): Promise<string[] | undefined> {
  const { Config } = await wrapErrors(docker.getImage(image).inspect());
  const { Healthcheck, Shell } = Config as { Healthcheck?: { Test?: string[] }; Shell?: string[] | null };
  const [kind, ...words] = Healthcheck?.Test ?? [];
  if (kind === 'CMD' && words.length > 0) return words;
  return kind === 'CMD-SHELL' ? [...(Shell ?? ['/bin/sh', '-c']), ...words] : undefined;
}

/** Throws and removes the container if its image has no check, so that the start fails for good. */
export async function requireImageCommand(docker: Docker, id: string, image: string): Promise<void> {
  if (await imageCommand(docker, image)) return;
  await wrapErrors(docker.getContainer(id).remove({ force: true, v: true }));
  const remedy = 'use "http", "tcp" or "command" in "health", or another image';
  throw new EngineError('permanent', `the image ${image} has no HEALTHCHECK that could run: ${remedy}`);
}

export interface CommandProbeOptions {
  /** For calls that return. */
  docker: Docker;
  /** For calls that last as long as a command. */
  streams: Docker;
  /**
   * Ends what is left of a command in a container, by its process and by the variable in its environment.
   * False if the agent does not reach that.
   */
  end(container: Pick<Target, 'id' | 'pid'>, pid: number, mark?: string): Promise<boolean>;
  /** An engine that takes longer than this for its own part of a check has not answered. */
  engineMs?: number;
}

/** Runs commands in containers, one at a time in each. */
export class CommandProbe {
  readonly #options: CommandProbeOptions;
  /** Commands of each container that had not ended when they were last seen. */
  readonly #unended = new Map<string, string[]>();
  readonly #ofImages = new Map<string, string[]>();

  constructor(options: CommandProbeOptions) {
    this.#options = options;
  }

  /** An engine that does not answer tells nothing about the container. */
  async run(target: Target, words: readonly string[] | null, timeoutMs: number): Promise<Finding> {
    const abortSignal = AbortSignal.timeout(timeoutMs + (this.#options.engineMs ?? ENGINE_MS));
    try {
      const command = words ?? (await this.#commandOf(target, abortSignal));
      if (!command) return UNKNOWN;
      if (await this.#isRunning(target, command, abortSignal))
        return failed('the command of the last check still runs');
      return await this.#run(target, command, timeoutMs, abortSignal);
    } catch (error) {
      // The container is not running any more.
      if (statusOf(error) === 404 || statusOf(error) === 409) return UNKNOWN;
      const { kind, message } = engineError(error);
      return kind === 'unreachable' ? UNKNOWN : failed(message);
    }
  }

  forget(id: string): void {
    this.#unended.delete(id);
    this.#ofImages.delete(id);
  }

  /** Read once for each container, since an image that runs may lose its name. */
  async #commandOf({ id, image }: Target, abortSignal: AbortSignal): Promise<string[] | undefined> {
    const read = () => imageCommand(this.#options.docker, image).catch(() => undefined);
    // This call of the client library takes no signal.
    const aborted = new Promise<undefined>((resolve) => {
      abortSignal.addEventListener('abort', () => resolve(undefined), { once: true });
    });
    const command = this.#ofImages.get(id) ?? (await Promise.race([read(), aborted]));
    if (command) this.#ofImages.set(id, command);
    return command;
  }

  async #run(
    target: Target,
    words: readonly string[],
    timeoutMs: number,
    abortSignal: AbortSignal,
  ): Promise<Finding> {
    const { id } = target;
    const mark = `BERTH_CHECK=${randomUUID()}`;
    const options = { Cmd: [...words], Env: [mark], AttachStdout: true, AttachStderr: true, abortSignal };
    const exec = await this.#options.docker.getContainer(id).exec(options);
    const deadlineMs = performance.now() + timeoutMs;
    const stream = await this.#options.streams.getExec(exec.id).start({ abortSignal });
    const output = new CommandOutput();
    const isWithinBound = await readOutput(stream, output, deadlineMs - performance.now());
    // The stream stays open meanwhile: an engine under load that is still starting the command would take its
    // end for a start that was given up, and report an exit code that the command never had.
    const exit = await this.#exitOf(exec, isWithinBound ? deadlineMs : 0, abortSignal).finally(() =>
      stream.destroy(),
    );
    const isEnded = await this.#options.end(target, exit.Pid, mark);
    if (exit.Running && !isEnded) this.#unended.set(id, [exec.id]);
    if (!isWithinBound) return failed(`the command wrote more than ${MAX_OUTPUT_BYTES / 1024} KiB`);
    if (exit.Running) return failed(`the command did not end within ${timeoutMs / 1_000} s`);
    return verdict(exit.ExitCode, output.text);
  }

  /** The command after its end, or as it is at this time. */
  async #exitOf(exec: Docker.Exec, deadlineMs: number, abortSignal: AbortSignal) {
    for (;;) {
      const seen = await exec.inspect({ abortSignal });
      if (!seen.Running || performance.now() >= deadlineMs) return seen;
      await pause(EXIT_PAUSE_MS);
    }
  }

  /** Whether an earlier command still runs, which may be that of an earlier agent, and can't be ended. */
  async #isRunning(target: Target, words: readonly string[], abortSignal: AbortSignal): Promise<boolean> {
    const { id, commands } = target;
    const running: string[] = [];
    for (const command of this.#unended.get(id) ?? commands.slice(-MAX_EARLIER)) {
      const seen = await this.#inspect(command, abortSignal);
      if (seen?.Running !== true || !isSame(seen.ProcessConfig, words)) continue;
      if (!(await this.#options.end(target, seen.Pid))) running.push(command);
    }
    this.#unended.set(id, running);
    return running.length > 0;
  }

  async #inspect(command: string, abortSignal: AbortSignal): Promise<Docker.ExecInspectInfo | undefined> {
    try {
      return await this.#options.docker.getExec(command).inspect({ abortSignal });
    } catch (error) {
      if (statusOf(error) === 404) return undefined;
      throw error;
    }
  }
}

const UNKNOWN: Finding = { result: 'unknown', detail: '' };
const failed = (detail: string): Finding => ({ result: 'failed', detail });

const isSame = (seen: Docker.ExecInspectInfo['ProcessConfig'], words: readonly string[]): boolean =>
  JSON.stringify([seen.entrypoint, ...(seen.arguments ?? [])]) === JSON.stringify(words);

function verdict(code: number | null, output: string): Finding {
  const text = output === '' ? '' : `: ${output}`;
  if (code === 0) return { result: 'passed', detail: `the command ended with exit code 0${text}` };
  const unusable = UNUSABLE.includes(code ?? 0) ? ' (it cannot be run)' : '';
  return failed(`the command ended with exit code ${code}${unusable}${text}`);
}

/** Reads for as long as this, or to the end. False if there is more than a check may write. */
function readOutput(stream: NodeJS.ReadableStream, output: CommandOutput, ms: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const settle = (isWithinBound: boolean) => {
      clearTimeout(timer);
      resolve(isWithinBound);
    };
    const timer = setTimeout(() => settle(true), ms);
    stream.on('data', (chunk: Buffer) => {
      output.push(chunk);
      if (output.bytes > MAX_OUTPUT_BYTES) settle(false);
    });
    stream.on('end', () => settle(true));
    stream.on('error', (error) => {
      clearTimeout(timer);
      reject(error);
    });
  });
}

const HEADER_BYTES = 8;
const MAX_KEPT_BYTES = 200;
/** A command that writes more than this has failed: to carry its output costs the host processor time. */
const MAX_OUTPUT_BYTES = 1024 * 1024;

/**
 * The output of a command as the engine streams it: frames of eight bytes and a payload. Keeps the beginning
 * only, and needs one step for each frame, however many small ones a chunk has.
 */
export class CommandOutput {
  /** The bytes of the stream so far. */
  bytes = 0;
  readonly #header = Buffer.alloc(HEADER_BYTES);
  #headerBytes = 0;
  /** What is left of the payload of the current frame. */
  #payloadBytes = 0;
  readonly #kept = Buffer.alloc(MAX_KEPT_BYTES);
  #keptBytes = 0;

  push(chunk: Buffer): void {
    this.bytes += chunk.length;
    let at = 0;
    while (at < chunk.length && this.#keptBytes < MAX_KEPT_BYTES)
      at += this.#payloadBytes > 0 ? this.#readPayload(chunk, at) : this.#readHeader(chunk, at);
  }

  /** What was kept, as one line. */
  get text(): string {
    return this.#kept
      .toString('latin1', 0, this.#keptBytes)
      .replace(/[^\x20-\x7e]+/g, ' ')
      .trim();
  }

  #readHeader(chunk: Buffer, at: number): number {
    const length = chunk.copy(this.#header, this.#headerBytes, at);
    this.#headerBytes += length;
    if (this.#headerBytes < HEADER_BYTES) return length;
    this.#headerBytes = 0;
    this.#payloadBytes = this.#header.readUInt32BE(4);
    return length;
  }

  #readPayload(chunk: Buffer, at: number): number {
    const length = Math.min(chunk.length - at, this.#payloadBytes);
    this.#keptBytes += chunk.copy(this.#kept, this.#keptBytes, at, at + length);
    this.#payloadBytes -= length;
    return length;
  }
}
