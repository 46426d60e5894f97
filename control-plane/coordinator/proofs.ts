/** Owns which proofs of connections were used: each lets in once, so that one that was overheard is worth nothing (PROTOCOL.md P19). */
import type { Pass } from '../core/enrolment.ts';
import { OperationError } from '../core/errors.ts';

/** Of one host at a time; an agent that behaves makes a tenth of these. */
const MOST_OF_A_HOST = 1_000;

export class Proofs {
  /** By host: ids, and when each is worth nothing any more. */
  readonly #used = new Map<number, Map<string, number>>();

  /** Throws OperationError where the proof was used before. */
  use({ hostId, proofId, expiresMs }: Pass, nowMs: number): void {
    const used = this.#used.get(hostId) ?? new Map<string, number>();
    this.#used.set(hostId, used);
    for (const [id, endMs] of used) if (endMs <= nowMs) used.delete(id);
    if (used.has(proofId))
      throw new OperationError('bad-token', 'This proof was used before: each connection needs its own.');
    if (used.size >= MOST_OF_A_HOST)
      throw new OperationError('too-many', 'The host connects too often; wait a minute.');
    used.set(proofId, expiresMs);
  }
}
