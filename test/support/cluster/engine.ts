/** Owns a dockerd that runs in namespaces: of the engines on this machine the one that a test may kill. */
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

  /** `folder` takes its data and its socket, `cgroup` is the parent of its containers' groups. */
  constructor(namespace: Namespace, folder: string, cgroup: string) {
    this.#namespace = namespace;
    this.#folder = folder;
    this.#cgroup = cgroup;
    this.docker = connectEngine(this.dockerHost);
  }

  /** A value of DOCKER_HOST. */
  get dockerHost(): string {
    return unixHost(join(this.#folder, 'docker.sock'));
  }

  /** Starts it and waits until it answers; also after its end. */
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

  /** kill -9. Its containers live on until it is started again. */
  async kill(): Promise<void> {
    if (!this.#program) return;
    process.kill(await onlyChild(this.#program.pid), 'SIGKILL');
    await this.#program.waitForEnd();
  }

  async loadImage(): Promise<void> {
    await ensureImage(this.docker);
  }
}
