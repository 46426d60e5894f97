/**
 * Entrance from this process to a cluster's network. Servers listen on loopback here, and a relay on that
 * network takes their connections: a listening socket stays on the network where it was made.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { createServer } from 'node:net';
import { resolve } from 'node:path';
import { listenOn } from '../hosts/port.ts';
import type { Namespace } from './namespace.ts';
import type { Target } from './relay.ts';

export class Door {
  readonly #relay: ChildProcess;
  /** Origins on loopback, by origins on the cluster's network. */
  readonly #origins = new Map<string, string>();

  constructor(network: Namespace) {
    const [file = '', ...args] = [...network.onNetwork, process.execPath];
    const program = resolve(import.meta.dirname, 'relay.ts');
    this.#relay = fork(program, [], { execPath: file, execArgv: args });
  }

  /** A URL on loopback that leads to `url` on the cluster's network. */
  async to(url: string): Promise<string> {
    const { origin, hostname, port } = new URL(url);
    const here =
      this.#origins.get(origin) ?? (await this.#open({ host: hostname, port: Number(port) || 80 }));
    this.#origins.set(origin, here);
    return url.replace(origin, here);
  }

  async #open(target: Target): Promise<string> {
    const server = createServer();
    const port = await listenOn(server);
    await new Promise<void>((done, fail) => {
      this.#relay.send(target, server, (error) => (error ? fail(error) : done()));
    });
    // The relay has the socket now. As long as both have it, either could accept connections.
    server.close();
    return `http://127.0.0.1:${port}`;
  }

  close(): void {
    if (this.#relay.connected) this.#relay.disconnect();
  }
}
