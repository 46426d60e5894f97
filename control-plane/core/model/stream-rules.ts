/** Rules of streams to services: how many, how long, and what the audit log has of them. Pure. */

export interface StreamRules {
  inTotal: number;
  perUser: number;
  perService: number;
  perHost: number;
  /** The longest time without a byte in either direction, and the longest time in all. */
  idleMs: number;
  totalMs: number;
  /** Whether the audit log has all words of commands, which may be secrets. */
  recordsCommands: boolean;
}

/** An agent takes 256 at most (P250). */
export const defaultStreamRules: StreamRules = {
  inTotal: 1_000,
  perUser: 50,
  perService: 32,
  perHost: 256,
  idleMs: 3_600_000,
  totalMs: 86_400_000,
  recordsCommands: false,
};
