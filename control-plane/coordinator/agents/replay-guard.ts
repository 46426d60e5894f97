/** Owns which proofs of connections were used: each lets in once, so that one that was overheard is worth nothing (PROTOCOL.md P19). */
import type { VerifiedProof } from '../../core/hosts/registration.ts';
import { OperationError } from '../../core/model/errors.ts';

/** Of one host at a time; an agent that behaves makes a tenth of these. */
const MAX_PROOFS_PER_HOST = 1_000;
/** Proofs that are worth nothing any more are thrown away this often. */
const SWEEP_MS = 60_000;

export class ReplayGuard {
  /** By host: ids, and when each is worth nothing any more. */
  readonly #used = new Map<number, Map<string, number>>();
  #sweptMs = 0;

  /** Hosts of which it knows any proof. */
  get hosts(): number {
    return this.#used.size;
  }

  /** Throws OperationError where the proof was used before. */
  use({ hostId, proofId, expiresMs }: VerifiedProof, nowMs: number): void {
    this.#sweep(nowMs);
    const used = this.#used.get(hostId) ?? new Map<string, number>();
    this.#used.set(hostId, used);
    dropExpired(used, nowMs);
    if (used.has(proofId))
      throw new OperationError('bad-token', 'This proof was used before: each connection needs its own.');
    if (used.size >= MAX_PROOFS_PER_HOST)
      throw new OperationError('too-many', 'The host connects too often; wait a minute.');
    used.set(proofId, expiresMs);
  }

  /** Of all hosts: one that was removed never comes back to have its own thrown away. */
  #sweep(nowMs: number): void {
    if (Math.abs(nowMs - this.#sweptMs) < SWEEP_MS) return;
    this.#sweptMs = nowMs;
    for (const [hostId, used] of this.#used) {
      dropExpired(used, nowMs);
      if (used.size === 0) this.#used.delete(hostId);
    }
  }
}

function dropExpired(used: Map<string, number>, nowMs: number): void {
  for (const [id, endMs] of used) if (endMs <= nowMs) used.delete(id);
}
