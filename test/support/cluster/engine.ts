/** A dockerd in namespaces, which a test can kill without affecting other engines of the machine. */
import { join } from 'node:path';
import type Docker from 'dockerode';
import { connectEngine, pingEngine, unixHost } from '../../../agent/engine/engine-address.ts';
import { findProgram } from '../../../agent/system-programs.ts';
import { ensureImage } from '../../../examples/image.ts';
import { type Program, startCommand } from '../hosts/process.ts';
import { type Namespace, onlyChild } from './namespace.ts';

const START_MS = 60_000;

export class NamespacedEngine {
  readonly docker: Docker;
  readonly #namespace: Namespace;
  readonly #folder: string;
  readonly #cgroup: string;
  #program: Program | undefined;

  /**
   * `folder` receives the engine's data and socket. `cgroup` is the parent of its containers' control groups.
   */
  constructor(namespace: Namespace, folder: string, cgroup: string) {
    this.#namespace = namespace;
    this.#folder = folder;
    this.#cgroup = cgroup;
    this.docker = connectEngine(this.dockerHost);
  }

  get dockerHost(): string {
    return unixHost(join(this.#folder, 'docker.sock'));
  }

  /** Starts the engine and waits until it answers. May be called again after the engine's end. */
  async start(): Promise<void> {
    const folder = this.#folder;
    this.#program = startCommand([
      ...this.#namespace.inside,
      String(await findProgram('dockerd')),
      ...['-H', this.dockerHost, '--pidfile', join(folder, 'docker.pid')],
      ...['--data-root', join(folder, 'data'), '--exec-root', join(folder, 'exec')],
      ...['--exec-opt', 'native.cgroupdriver=cgroupfs', '--cgroup-parent', this.#cgroup],
    ]);
    await this.#program.waitUntil(async () => (await pingEngine(this.dockerHost)) === null, START_MS);
  }

  /** Kills the engine by SIGKILL. Its containers continue until the engine is started again. */
  async kill(): Promise<void> {
    if (!this.#program) return;
    process.kill(await onlyChild(this.#program.pid), 'SIGKILL');
    await this.#program.waitForEnd();
  }

  async loadImage(): Promise<void> {
    await ensureImage(this.docker);
  }
}
