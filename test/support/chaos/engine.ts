/** Owns an engine of a test's own, in namespaces of its own, which may be killed while all others go on. */
import { join } from 'node:path';
import type Docker from 'dockerode';
import { connectEngine, pingEngine, unixHost } from '../../../agent/engine-address.ts';
import { findProgram } from '../../../agent/program.ts';
import { ensureImage } from '../../../examples/image.ts';
import { cgroupOf, folderOf, newName, removeAll, removeLeftovers } from '../cluster/leftovers.ts';
import { Namespace, onlyChild } from '../cluster/namespace.ts';
import { ensurePrograms } from '../cluster/programs.ts';
import { type Program, startCommand } from '../process.ts';

const START_MS = 60_000;

export class LoneEngine {
  readonly docker: Docker;
  readonly #name: string;
  readonly #namespace: Namespace;
  #program: Program | undefined;

  private constructor(name: string, namespace: Namespace) {
    this.#name = name;
    this.#namespace = namespace;
    this.docker = connectEngine(this.dockerHost);
  }

  /** With the image of the tests. */
  static async start(): Promise<LoneEngine> {
    await ensurePrograms();
    await removeLeftovers();
    const engine = new LoneEngine(await newName(), await Namespace.make());
    try {
      await engine.start();
      await ensureImage(engine.docker);
    } catch (error) {
      await engine.end();
      throw error;
    }
    return engine;
  }

  /** A value of DOCKER_HOST. */
  get dockerHost(): string {
    return unixHost(join(folderOf(this.#name), 'docker.sock'));
  }

  /** Also again, after a kill. */
  async start(): Promise<void> {
    const folder = folderOf(this.#name);
    this.#program = startCommand([
      ...this.#namespace.inside,
      String(await findProgram('dockerd')),
      ...['-H', this.dockerHost, '--pidfile', join(folder, 'docker.pid')],
      ...['--data-root', join(folder, 'data'), '--exec-root', join(folder, 'exec')],
      ...['--exec-opt', 'native.cgroupdriver=cgroupfs', '--cgroup-parent', cgroupOf(this.#name)],
    ]);
    await this.#program.waitUntil(async () => (await pingEngine(this.dockerHost)) === null, START_MS);
  }

  /** kill -9 of dockerd; its containers live on until it is started again. */
  async kill(): Promise<void> {
    if (!this.#program) return;
    process.kill(await onlyChild(this.#program.pid), 'SIGKILL');
    await this.#program.waitForEnd();
  }

  /** Kills all and removes what it had on disk. */
  async end(): Promise<void> {
    await this.#namespace.end();
    await removeAll(this.#name);
  }
}
