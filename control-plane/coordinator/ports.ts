/** Interfaces of the coordinator to its runtime, which may be Node or workerd. */
import type { ProvenIds } from '../../shared/protocol/assignment.ts';

export interface Clock {
  nowMs(): number;
  /** For durations: a clock that is never set, and perhaps finer than milliseconds. */
  monotonicMs(): number;
  /** Calls the coordinator's `wake` at `timeMs`, in place of the previous time; null cancels it. */
  wakeAt(timeMs: number | null): void;
  /** Runs `turn` once all input that has arrived is taken in, so that it shares one commit. */
  defer(turn: () => void): void;
  /**
   * Calls `run` once after the delay, unless the process or object ends first. Returns a function that
   * cancels it.
   */
  after(delayMs: number, run: () => void): () => void;
}

/** A socket to an agent: the common part of workerd's and ws's. */
export interface AgentSocket {
  send(data: string | Uint8Array): void;
  close(code: number, reason: string): void;
  /**
   * When the runtime last answered a pulse (P179); null: never. Absent where the control plane has no pulses.
   */
  lastPulseMs?(): number | null;
  /** Reads nothing for that time. Absent where the runtime cannot delay a sender, as on workerd. */
  pause?(durationMs: number): void;
  /** Bytes that were sent and are not yet in the network. Absent where the runtime does not show them. */
  unsentBytes?(): number;
}

/** Makes and checks proofs that the holder of `key` gave these ids (STORE-12). */
export interface IdCode {
  proofOf(key: string, ids: Omit<ProvenIds, 'proof'>): string;
  isProof(key: string, ids: ProvenIds): boolean;
  /** The proof of a port whose web application has a path: 22 characters of base64url. */
  appProofOf(key: string, ids: { service: number; port: number }): string;
}

/** Writes one JSON object per line. Fields must not contain secrets or values of a description. */
export type Logger = (event: string, fields?: Record<string, unknown>) => void;
