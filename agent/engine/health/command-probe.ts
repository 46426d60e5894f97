/**
 * Checks a container by a command that the engine runs in it: the description's, or that of the image's own
 * HEALTHCHECK. The output is read no further than a short message needs.
 */
import { Writable } from 'node:stream';
import type Docker from 'dockerode';
import { engineError, statusOf, wrapErrors } from '../docker-error.ts';
import { EngineError } from '../engine.ts';
import type { Finding } from './judge.ts';

const MAX_OUTPUT = 200;
/** Exit codes of the engine for a program that is missing or can't be run. */
const UNUSABLE = [126, 127];

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

/** Runs commands in containers, one at a time in each. */
export class CommandProbe {
  readonly #docker: Docker;
  /** The latest command of each container, if it has not ended within its time. */
  readonly #unended = new Map<string, string>();

  constructor(docker: Docker) {
    this.#docker = docker;
  }

  /** An engine that does not answer tells nothing about the container. */
  async run(id: string, words: readonly string[], timeoutMs: number): Promise<Finding> {
    try {
      if (await this.#isRunning(id)) return failed('the command of the last check still runs');
      return await this.#run(id, words, timeoutMs);
    } catch (error) {
      // The container is not running any more.
      if (statusOf(error) === 404 || statusOf(error) === 409) return { result: 'unknown', detail: '' };
      const { kind, message } = engineError(error);
      return kind === 'unreachable' ? { result: 'unknown', detail: '' } : failed(message);
    }
  }

  forget(id: string): void {
    this.#unended.delete(id);
  }

  async #run(id: string, words: readonly string[], timeoutMs: number): Promise<Finding> {
    const options = { Cmd: [...words], AttachStdout: true, AttachStderr: true };
    const exec = await this.#docker.getContainer(id).exec(options);
    const stream = await exec.start({});
    const output = new ShortOutput();
    this.#docker.modem.demuxStream(stream, output, output);
    const hasEnded = await endsWithin(stream, timeoutMs);
    if (!hasEnded) {
      this.#unended.set(id, exec.id);
      stream.destroy();
      return failed(`the command did not end within ${timeoutMs / 1_000} s`);
    }
    const { ExitCode } = await exec.inspect();
    const text = output.text === '' ? '' : `: ${output.text}`;
    if (ExitCode === 0) return { result: 'passed', detail: `the command ended with exit code 0${text}` };
    const unusable = UNUSABLE.includes(ExitCode ?? 0) ? ' (it cannot be run)' : '';
    return failed(`the command ended with exit code ${ExitCode}${unusable}${text}`);
  }

  async #isRunning(id: string): Promise<boolean> {
    const exec = this.#unended.get(id);
    if (exec === undefined) return false;
    const isRunning = await this.#docker
      .getExec(exec)
      .inspect()
      .then(
        ({ Running }) => Running,
        (error) => {
          if (statusOf(error) === 404) return false;
          throw error;
        },
      );
    if (!isRunning) this.#unended.delete(id);
    return isRunning;
  }
}

const failed = (detail: string): Finding => ({ result: 'failed', detail });

/** Keeps the beginning of what is written, as one line. */
class ShortOutput extends Writable {
  #bytes = Buffer.alloc(0);

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    if (this.#bytes.length < MAX_OUTPUT)
      this.#bytes = Buffer.concat([this.#bytes, chunk.subarray(0, MAX_OUTPUT)]);
    done();
  }

  get text(): string {
    return this.#bytes
      .subarray(0, MAX_OUTPUT)
      .toString()
      .replace(/[^\x20-\x7e]+/g, ' ')
      .trim();
  }
}

/** Whether the stream ends within this time. Rejects if it breaks. */
function endsWithin(stream: NodeJS.ReadableStream, ms: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => resolve(false), ms);
    const settle = (how: () => void) => () => {
      clearTimeout(timer);
      how();
    };
    stream.on(
      'end',
      settle(() => resolve(true)),
    );
    stream.on('error', (error) => settle(() => reject(error))());
  });
}
