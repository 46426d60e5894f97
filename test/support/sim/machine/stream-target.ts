/**
 * What a simulated container has at its ports, for streams: it sends bytes with pauses, and takes what comes.
 * The number of the port is that of the stream.
 */
import type { Piece, Target } from '../../../../agent/engine/streams/target.ts';
import type { StreamCheck } from '../checks/streams.ts';
import { bytesOf } from '../checks/streams.ts';
import { currentProcess, ifAlive, type Process, type World } from '../world/time.ts';
import type { SimContainer } from './container.ts';

const CONNECT_MS = 50;
const LOOK_MS = 500;
const MAX_PIECE_BYTES = 100_000;
const MAX_BYTES = 600_000;

/** Random choices of streams. */
export interface Chances {
  chance(probability: number): boolean;
  /** A whole number in [from, to]. */
  between(from: number, to: number): number;
}

/** Throws if the container does not run. */
export async function connectPort(
  world: World,
  check: StreamCheck,
  chances: Chances,
  container: SimContainer | undefined,
  port: number,
): Promise<Target> {
  const owner = currentProcess();
  await ifAlive(owner, world.pause(chances.between(1, CONNECT_MS)));
  if (container?.state !== 'running' || chances.chance(0.05))
    throw new Error(`port ${port}: nothing listens`);
  return new StreamTarget(world, check, chances, container, port);
}

export class StreamTarget implements Target {
  readonly output: AsyncIterable<Piece>;
  readonly owner: Process | undefined;
  readonly #world: World;
  readonly #check: StreamCheck;
  readonly #chances: Chances;
  readonly #container: SimContainer;
  readonly #port: number;
  #taken = 0;
  #isOver = false;

  constructor(world: World, check: StreamCheck, chances: Chances, container: SimContainer, port: number) {
    this.owner = currentProcess();
    this.#world = world;
    this.#check = check;
    this.#chances = chances;
    this.#container = container;
    this.#port = port;
    this.output = this.#pieces();
    check.connected(port, this);
  }

  async write(bytes: Uint8Array): Promise<void> {
    this.#check.taken(this.#port, this.#taken, bytes);
    this.#taken += bytes.length;
    await this.#pause(this.#chances.chance(0.1) ? 5_000 : 20);
  }

  end(): void {}

  async exitCode(): Promise<undefined> {
    return undefined;
  }

  resize(): void {}

  signal(): void {}

  destroy(): void {
    this.#isOver = true;
    this.#check.disconnected(this);
  }

  async *#pieces(): AsyncGenerator<Piece> {
    const total = this.#chances.between(0, MAX_BYTES);
    for (let sent = 0; sent < total && (await this.#runs()); ) {
      const length = Math.min(total - sent, this.#chances.between(1, MAX_PIECE_BYTES));
      yield { bytes: bytesOf(this.#port, sent, length) };
      sent += length;
      this.#check.sent(this.#port, sent);
      await this.#pause(this.#chances.between(1, 2_000));
    }
    // Half of them are closed by the client only.
    if (this.#chances.chance(0.5)) while (await this.#runs()) await this.#pause(LOOK_MS);
  }

  /** False once it is disconnected. Throws once the container has ended. */
  async #runs(): Promise<boolean> {
    if (this.#isOver) return false;
    if (this.#container.state !== 'running') throw new Error('the service has ended');
    return true;
  }

  #pause(forMs: number): Promise<void> {
    return ifAlive(this.owner, this.#world.pause(forMs));
  }
}
