/**
 * What a simulated container has for streams, of whichever kind: it sends bytes with pauses, and takes what
 * comes. Its target names the number of the stream.
 */
import type { Piece, Target } from '../../../../agent/engine/streams/target.ts';
import { encodeAnswerHead } from '../../../../shared/streams/app-heads.ts';
import type { ChannelTarget, StreamTarget as TargetRequest } from '../../../../shared/streams/targets.ts';
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

export function numberOf(target: ChannelTarget): number {
  if (target.kind === 'output') return Number.NaN;
  if ('port' in target) return target.port;
  return Number(target.kind === 'exec' ? target.words[0] : target.path.slice(1));
}

/** Throws if the container does not run. */
export async function connectContainer(
  world: World,
  check: StreamCheck,
  chances: Chances,
  container: SimContainer | undefined,
  target: TargetRequest,
): Promise<Target> {
  const owner = currentProcess();
  await ifAlive(owner, world.pause(chances.between(1, CONNECT_MS)));
  if (container?.state !== 'running' || chances.chance(0.05)) throw new Error('nothing is there');
  return new StreamTarget(world, check, chances, container, target);
}

export class StreamTarget implements Target {
  readonly output: AsyncIterable<Piece>;
  readonly owner: Process | undefined;
  readonly #world: World;
  readonly #check: StreamCheck;
  readonly #chances: Chances;
  readonly #container: SimContainer;
  readonly #port: number;
  readonly #kind: TargetRequest['kind'];
  #taken = 0;
  #hasInputEnded = false;
  #isOver = false;

  constructor(
    world: World,
    check: StreamCheck,
    chances: Chances,
    container: SimContainer,
    target: TargetRequest,
  ) {
    this.owner = currentProcess();
    this.#world = world;
    this.#check = check;
    this.#chances = chances;
    this.#container = container;
    this.#port = numberOf(target);
    this.#kind = target.kind;
    this.output = this.#pieces();
    check.connected(this.#port, this);
  }

  async write(bytes: Uint8Array): Promise<void> {
    this.#check.taken(this.#port, this.#taken, bytes);
    this.#taken += bytes.length;
    await this.#pause(this.#chances.chance(0.1) ? 5_000 : 20);
  }

  end(): void {
    this.#hasInputEnded = true;
  }

  async exitCode(): Promise<number | undefined> {
    return ['exec', 'files-in', 'files-out'].includes(this.#kind) ? 0 : undefined;
  }

  resize(): void {}

  signal(): void {}

  destroy(): void {
    this.#isOver = true;
    this.#check.disconnected(this);
  }

  async *#pieces(): AsyncGenerator<Piece> {
    const isRequest = this.#kind === 'http';
    const total = this.#kind === 'files-in' ? 0 : this.#chances.between(0, MAX_BYTES);
    const isLast = (sent: number) => isRequest && sent === total && this.#chances.chance(0.8);
    if (isRequest || this.#kind === 'websocket') {
      const head = encodeAnswerHead({ status: isRequest ? 200 : 101, headers: [] });
      yield { bytes: head ?? new Uint8Array(), isLast: isLast(0) };
    }
    for (let sent = 0; sent < total && (await this.#runs()); ) {
      const length = Math.min(total - sent, this.#chances.between(1, MAX_PIECE_BYTES));
      const bytes = bytesOf(this.#port, sent, length);
      sent += length;
      this.#check.sent(this.#port, sent);
      yield { bytes, isLast: isLast(sent), ...(this.#kind === 'exec' && { source: 1 }) };
      await this.#pause(this.#chances.between(1, 2_000));
    }
    if (this.#kind === 'files-in')
      while (!this.#hasInputEnded && (await this.#runs())) await this.#pause(LOOK_MS);
    if (this.#kind.startsWith('files') && this.#chances.chance(0.1)) throw new Error('the disk is full');
    // Half of them are closed by the client only.
    if (this.#kind === 'tcp' && this.#chances.chance(0.5))
      while (await this.#runs()) await this.#pause(LOOK_MS);
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
