/**
 * Owns a network for the browser alone. Chromium takes each container's interface that comes or goes for a change of its
 * own network, and drops its connections (ERR_NETWORK_CHANGED). Here it sees loopback and nothing else; what it asks on
 * the ports that are opened for it is passed on to the same ports of this machine. Needs root on Linux.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { chmod, writeFile } from 'node:fs/promises';
import { connect, type Server, type Socket } from 'node:net';
import { join, resolve } from 'node:path';
import { pipeline } from 'node:stream';
import { Namespace } from '../cluster/namespace.ts';

export class QuietNetwork {
  readonly #network: Namespace;
  readonly #listener: ChildProcess;
  readonly #servers = new Map<number, Server>();

  private constructor(network: Namespace) {
    this.#network = network;
    const [file = '', ...args] = [...network.onNetwork, process.execPath];
    this.#listener = fork(resolve(import.meta.dirname, 'listener.ts'), [], {
      execPath: file,
      execArgv: args,
    });
  }

  static async make(): Promise<QuietNetwork> {
    return new QuietNetwork(await Namespace.make());
  }

  /** A program in `folder` that runs `program` on this network. */
  async wrap(program: string, folder: string): Promise<string> {
    const path = join(folder, 'on-quiet-network');
    await writeFile(path, `#!/bin/sh\nexec ${this.#network.onNetwork.join(' ')} '${program}' "$@"\n`);
    await chmod(path, 0o700);
    return path;
  }

  /** From here on the port of this machine's loopback is there, too. */
  async open(port: number): Promise<void> {
    if (this.#servers.has(port)) return;
    this.#listener.send(port);
    const [, server] = (await once(this.#listener, 'message')) as [unknown, Server];
    this.#servers.set(port, server);
    server.on('connection', (outer: Socket) => {
      const inner = connect(port, '127.0.0.1');
      // One that breaks off takes the other with it: that is all there is to do.
      pipeline(outer, inner, () => {});
      pipeline(inner, outer, () => {});
    });
  }

  async close(): Promise<void> {
    for (const server of this.#servers.values()) server.close();
    if (this.#listener.connected) this.#listener.disconnect();
    await this.#network.end();
  }
}
