/**
 * Bounds of copies on this host: how many are under way, how large one may be, and how much of the disk must
 * stay free (P311 to P313). Never removes anything: a copy that breaks off cleans up itself.
 */
import { sizeText } from '../../shared/sizes.ts';
import type { StreamTarget } from '../../shared/streams/targets.ts';
import type { Piece, Target } from '../engine/streams/target.ts';
import { withResolvers } from '../with-resolvers.ts';

export interface CopyLimitsOptions {
  maxCopies: number;
  maxBytes: number;
  /** What the engine's disk lacks for people; undefined while it has enough. Never rejects. */
  lowDisk(): Promise<string | undefined>;
}

/** The disk is looked at before each part of this size. */
const PART_BYTES = 8 * 2 ** 20;

export class CopyLimits {
  readonly #options: CopyLimitsOptions;
  #underWay = 0;

  constructor(options: CopyLimitsOptions) {
    this.#options = options;
  }

  /** Connects to a target, within the bounds if it is a copy. Throws an Error for people. */
  async open({ kind }: Pick<StreamTarget, 'kind'>, connect: () => Promise<Target>): Promise<Target> {
    if (kind !== 'files-in' && kind !== 'files-out') return connect();
    const { maxCopies } = this.#options;
    if (this.#underWay >= maxCopies)
      throw new Error(
        `the host has ${maxCopies} copies under way, which is its maximum (BERTH_LIMITS.copies); try again later`,
      );
    this.#underWay += 1;
    try {
      if (kind === 'files-in') await this.#assertDisk();
      const target = await connect();
      return kind === 'files-in' ? this.#into(target) : this.#outOf(target);
    } catch (error) {
      this.#underWay -= 1;
      throw error;
    }
  }

  #outOf(target: Target): Target {
    const output = async function* (assertSize: (bytes: number) => void): AsyncGenerator<Piece> {
      let total = 0;
      for await (const piece of target.output) {
        total += piece.bytes.length;
        assertSize(total);
        yield piece;
      }
    };
    return this.#counted(target, { output: output((bytes) => this.#assertSize(bytes)) });
  }

  #into(target: Target): Target {
    const { promise: broken, reject } = withResolvers<never>();
    broken.catch(() => {});
    let total = 0;
    let lookAt = PART_BYTES;
    let isBroken = false;
    const write = async (bytes: Uint8Array): Promise<void> => {
      total += bytes.length;
      try {
        if (isBroken) return;
        this.#assertSize(total);
        if (total >= lookAt) {
          lookAt = total + PART_BYTES;
          await this.#assertDisk();
        }
      } catch (error) {
        isBroken = true;
        reject(error);
        return;
      }
      await target.write(bytes);
    };
    return this.#counted(target, { output: until(broken, target.output), write });
  }

  /** The place is free again once the stream is over. */
  #counted(target: Target, changed: Pick<Target, 'output'> & Partial<Target>): Target {
    let isOver = false;
    return {
      write: (bytes) => target.write(bytes),
      end: () => target.end(),
      exitCode: () => target.exitCode(),
      resize: (size) => target.resize(size),
      signal: (signal) => target.signal(signal),
      ...changed,
      destroy: () => {
        if (!isOver) this.#underWay -= 1;
        isOver = true;
        target.destroy();
      },
    };
  }

  #assertSize(bytes: number): void {
    const { maxBytes } = this.#options;
    if (bytes > maxBytes)
      throw new Error(
        `the copy has more than ${sizeText(maxBytes)}, the maximum of its host (BERTH_LIMITS.copyBytes)`,
      );
  }

  async #assertDisk(): Promise<void> {
    const low = await this.#options.lowDisk();
    if (low !== undefined)
      throw new Error(`the disk of the host is nearly full (${low}), so that it takes no copies`);
  }
}

/** Passes the pieces on until `broken` rejects. */
async function* until(broken: Promise<never>, pieces: AsyncIterable<Piece>): AsyncGenerator<Piece> {
  const iterator = pieces[Symbol.asyncIterator]();
  for (;;) {
    const next = iterator.next();
    next.catch(() => {});
    const { done, value } = await Promise.race([next, broken]);
    if (done) return;
    yield value;
  }
}
