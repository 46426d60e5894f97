/**
 * Installations of the agent by its script, as a control plane serves it. Each lies beneath its own folder,
 * which represents the machine's root.
 */
import { spawn } from 'node:child_process';
import { readdir, readFile, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, request } from 'node:http';
import { dirname, join } from 'node:path';
import { buffer, text } from 'node:stream/consumers';
import { scratchFolder } from '../tools/folder.ts';
import { serving } from '../tools/serving.ts';

export class Installation {
  readonly root: string;
  readonly #url: string;
  readonly #env: NodeJS.ProcessEnv;

  private constructor(root: string, url: string, env: NodeJS.ProcessEnv) {
    this.root = root;
    this.#url = url;
    this.#env = env;
  }

  /** Prepares a folder without an installation. `env` applies to every run of the script. */
  static async prepare(url: string, env: NodeJS.ProcessEnv = {}): Promise<Installation> {
    return new Installation(await scratchFolder('berth-install-'), url, env);
  }

  /** Runs `curl .../install.sh | sh -s ARGS`. `options` are the shell's. The output has errors, too. */
  async run(args: string[] = [], env: NodeJS.ProcessEnv = {}, options: string[] = []) {
    const script = await (await fetch(`${this.#url}/agent/install.sh`)).text();
    const child = spawn('/bin/sh', [...options, '-s', ...args], {
      env: {
        PATH: `${dirname(process.execPath)}:${process.env.PATH}`,
        ...(process.env.DOCKER_HOST ? { DOCKER_HOST: process.env.DOCKER_HOST } : {}),
        BERTH_ROOT: this.root,
        ...this.#env,
        ...env,
      },
    });
    child.stdin.end(script);
    const ended = new Promise<number | null>((done, fail) => child.on('error', fail).on('close', done));
    const [code, out, errors] = await Promise.all([ended, text(child.stdout), text(child.stderr)]);
    return { code, output: out + errors };
  }

  /** Every file and empty folder, as paths from the root. */
  async files(): Promise<string[]> {
    const entries = await readdir(this.root, { recursive: true, withFileTypes: true });
    const paths = entries.map((entry) => join(entry.parentPath, entry.name).slice(this.root.length));
    return paths.filter((path) => !paths.some((other) => other.startsWith(`${path}/`))).sort();
  }

  read(path: string): Promise<string> {
    return readFile(join(this.root, path), 'utf8');
  }

  remove(): Promise<void> {
    return rm(this.root, { recursive: true, force: true });
  }
}

export const commandIn = (output: string): string[] => {
  const [, command] = output.match(/\n {2}(\/\S* .*berth-agent\.mjs)\n/) ?? [];
  if (!command) throw new Error(`there is no command in:\n${output}`);
  return command.split(' ');
};

/** What a proxy changes in the answers to a path. */
export interface Tampering {
  /** The answers are dated this long ago, in ms. */
  datedAgoMs?: number;
  body?(body: Buffer, path: string): Buffer;
}

/**
 * Starts a proxy in front of `target` that changes its answers, for the current test; resolves to its URL.
 */
export async function startProxy(target: string, tampering: Tampering): Promise<string> {
  const server = createServer((incoming, outgoing) => {
    const { method, headers, url = '/' } = incoming;
    const forward = request(new URL(url, target), { method, headers }, async (answer: IncomingMessage) => {
      const body = await buffer(answer);
      const { 'transfer-encoding': _, 'content-length': __, ...rest } = answer.headers;
      outgoing.sendDate = false;
      if (tampering.datedAgoMs) rest.date = new Date(Date.now() - tampering.datedAgoMs).toUTCString();
      outgoing.writeHead(answer.statusCode ?? 502, rest);
      outgoing.end(tampering.body?.(body, url) ?? body);
    });
    forward.on('error', (error) => outgoing.destroy(error));
    incoming.pipe(forward);
  });
  return `http://127.0.0.1:${await serving(server)}`;
}
