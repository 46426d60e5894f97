/**
 * What a simulated container has for streams, of whichever kind: it sends bytes with pauses, and takes what
 * comes. Its target names the number of the stream. Copies are the agent's own, and only their commands are
 * played here.
 */
import { copyIn } from '../../../../agent/engine/streams/copy-in.ts';
import { copyOut } from '../../../../agent/engine/streams/copy-out.ts';
import type { Piece, Target } from '../../../../agent/engine/streams/target.ts';
import type { TarEntry } from '../../../../shared/archives/tar-entry.ts';
import { TarReader } from '../../../../shared/archives/tar-reader.ts';
import { endOfTar, headerOf, paddingOf } from '../../../../shared/archives/tar-writer.ts';
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
/** The last entry of an archive for a container, without which the command makes no file. */
const COMPLETE = 'complete';

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
  const run = async () => new StreamTarget(world, check, chances, container, target);
  if (target.kind === 'files-in') return copyIn(run, target, [], world.nowMs);
  return target.kind === 'files-out' ? copyOut(run, target, []) : run();
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
  readonly #archive = new TarReader();
  #lastEntry = '';
  #exitCode = 0;
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
    if (this.#kind === 'files-in') this.#unpack(bytes);
    else this.#take(bytes);
    await this.#pause(this.#chances.chance(0.1) ? 5_000 : 20);
  }

  end(): void {
    this.#hasInputEnded = true;
    // The command of a copy then ends by itself.
    if (this.#kind === 'files-in') this.#check.disconnected(this);
  }

  async exitCode(): Promise<number | undefined> {
    return ['exec', 'files-in', 'files-out'].includes(this.#kind) ? this.#exitCode : undefined;
  }

  resize(): void {}

  signal(): void {}

  destroy(): void {
    this.#isOver = true;
    this.#check.disconnected(this);
  }

  #take(bytes: Uint8Array): void {
    this.#check.taken(this.#port, this.#taken, bytes);
    this.#taken += bytes.length;
  }

  #unpack(bytes: Uint8Array): void {
    for (const one of this.#archive.push(bytes))
      if (one instanceof Uint8Array) this.#take(one);
      else this.#lastEntry = one.path;
  }

  async *#pieces(): AsyncGenerator<Piece> {
    if (this.#kind === 'files-in') return await this.#receive();
    const isWhole = this.#kind === 'http' && this.#chances.chance(0.4);
    const total = this.#chances.between(0, isWhole ? MAX_PIECE_BYTES : MAX_BYTES);
    // A disk that is full, or a file that can't be read to its end.
    if (this.#kind === 'files-out' && this.#chances.chance(0.1)) this.#exitCode = 1;
    const head = this.#head(total);
    if (isWhole) {
      this.#sends(total, total);
      return yield { bytes: Buffer.concat([head, bytesOf(this.#port, 0, total)]), isLast: true };
    }
    const isLast = (sent: number) => this.#kind === 'http' && sent === total && this.#chances.chance(0.8);
    if (head.length > 0) yield { bytes: head, isLast: isLast(0) };
    for (let sent = 0; sent < total && (await this.#runs()); ) {
      const length = Math.min(total - sent, this.#chances.between(1, MAX_PIECE_BYTES));
      const bytes = bytesOf(this.#port, sent, length);
      sent += length;
      this.#sends(sent, total);
      yield { bytes, isLast: isLast(sent), ...(this.#kind === 'exec' && { source: 1 }) };
      await this.#pause(this.#chances.between(1, 2_000));
    }
    if (this.#kind === 'files-out') yield { bytes: Buffer.concat([paddingOf(total), endOfTar()]) };
    // Half of them are closed by the client only.
    if (this.#kind === 'tcp' && this.#chances.chance(0.5))
      while (await this.#runs()) await this.#pause(LOOK_MS);
  }

  #sends(sent: number, total: number): void {
    this.#check.sent(this.#port, sent, {
      endsStream: sent === total && this.#kind !== 'tcp',
      isWhole: this.#exitCode === 0,
    });
  }

  /** Once its archive has ended, a copy into the container is there or not. */
  async #receive(): Promise<void> {
    while (!this.#hasInputEnded && (await this.#runs())) await this.#pause(LOOK_MS);
    if (this.#lastEntry !== COMPLETE || this.#chances.chance(0.1)) this.#exitCode = 1;
    else this.#check.stored(this.#port, this.#taken);
  }

  /** What goes before the bytes. */
  #head(total: number): Uint8Array {
    if (this.#kind === 'files-out') return headerOf(fileOf(total));
    const status = { http: 200, websocket: 101 }[this.#kind as string];
    if (status === undefined) return new Uint8Array();
    const length: [string, string] = ['content-length', String(total)];
    const headers = status === 200 && this.#chances.chance(0.5) ? [length] : [];
    return encodeAnswerHead({ status, headers }) ?? new Uint8Array();
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

const fileOf = (size: number): TarEntry => ({
  ...{ kind: 'file', path: './file', mode: 0o644, target: '', modified: 0 },
  size,
});
