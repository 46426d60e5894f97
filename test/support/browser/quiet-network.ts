/**
 * A network namespace for the browser. Chromium takes every container interface that appears or disappears
 * for a change of its own network, and drops its connections (ERR_NETWORK_CHANGED). In the namespace it sees
 * only loopback. Connections to opened ports are forwarded to the same ports of this machine. Needs root on
 * Linux.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { chmod, writeFile } from 'node:fs/promises';
import { connect, type Server, type Socket } from 'node:net';
import { join, resolve } from 'node:path';
import { pipeline } from 'node:stream';
import { Namespace } from '../cluster/namespace.ts';

export class QuietNetwork {
  readonly namespace: Namespace;
  readonly #listener: ChildProcess;
  readonly #servers = new Map<string, Server>();

  private constructor(network: Namespace) {
    this.namespace = network;
    const [file = '', ...args] = [...network.onNetwork, process.execPath];
    this.#listener = fork(resolve(import.meta.dirname, 'listener.ts'), [], {
      execPath: file,
      execArgv: args,
    });
  }

  static async make(): Promise<QuietNetwork> {
    return new QuietNetwork(await Namespace.make());
  }

  /** Writes a program into `folder` that runs `program` in this namespace. */
  async wrap(program: string, folder: string): Promise<string> {
    const path = join(folder, 'on-quiet-network');
    await writeFile(path, `#!/bin/sh\nexec ${this.namespace.onNetwork.join(' ')} '${program}' "$@"\n`);
    await chmod(path, 0o700);
    return path;
  }

  /** Forwards this port to the same port of this machine, at the same address of loopback. */
  async open(port: number, host = '127.0.0.1'): Promise<void> {
    const place = `${host}:${port}`;
    if (this.#servers.has(place)) return;
    this.#listener.send({ port, host });
    const [, server] = (await once(this.#listener, 'message')) as [unknown, Server];
    this.#servers.set(place, server);
    server.on('connection', (outer: Socket) => {
      const inner = connect(port, host);
      // A broken connection ends its counterpart; nothing else is to be done.
      pipeline(outer, inner, () => {});
      pipeline(inner, outer, () => {});
    });
  }

  async close(): Promise<void> {
    for (const server of this.#servers.values()) server.close();
    if (this.#listener.connected) this.#listener.disconnect();
    await this.namespace.end();
  }
}
