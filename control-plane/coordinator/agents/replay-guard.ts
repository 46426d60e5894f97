/**
 * Replay guard: each proof admits one connection, so a proof that was overheard is worthless (PROTOCOL.md
 * P19).
 */
import type { VerifiedProof } from '../../core/hosts/registration.ts';
import { OperationError } from '../../core/model/errors.ts';

/** Unexpired proofs of one host. An agent that works correctly makes a tenth of these. */
const MAX_PROOFS_PER_HOST = 1_000;
/** How often expired proofs of all hosts are deleted. */
const SWEEP_MS = 60_000;

export class ReplayGuard {
  /** By host id: proof ids, each with the time when it expires. */
  readonly #used = new Map<number, Map<string, number>>();
  #sweptMs = 0;

  /** Number of hosts with a recorded proof. */
  get hosts(): number {
    return this.#used.size;
  }

  /** Records the proof. Throws OperationError if it was used before, or if the host has used too many. */
  use({ hostId, proofId, expiresMs }: VerifiedProof, nowMs: number): void {
    this.#sweep(nowMs);
    const used = this.#used.get(hostId) ?? new Map<string, number>();
    this.#used.set(hostId, used);
    dropExpired(used, nowMs);
    if (used.has(proofId))
      throw new OperationError(
        'bad-token',
        'This proof was already used. Each connection requires a new one.',
      );
    if (used.size >= MAX_PROOFS_PER_HOST)
      throw new OperationError('too-many', 'The host connects too often. Wait a minute.');
    used.set(proofId, expiresMs);
  }

  /** The recorded proofs. */
  unexpired(nowMs: number): VerifiedProof[] {
    return [...this.#used].flatMap(([hostId, used]) =>
      [...used]
        .filter(([, expiresMs]) => expiresMs > nowMs)
        .map(([proofId, expiresMs]) => ({ hostId, proofId, expiresMs })),
    );
  }

  /** Covers all hosts: a removed host never connects again, so `use` would never delete its proofs. */
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
