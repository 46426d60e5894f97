/** Owns what the coordinator needs from the world around it, so that it knows neither Node nor workerd. */

export interface Clock {
  nowMs(): number;
  /** Calls the coordinator's `wake` at `timeMs`; replaces the call asked for before; null asks for none. */
  wakeAt(timeMs: number | null): void;
  /** Runs `turn` once everything that has already arrived is taken in: that is what makes a group commit. */
  defer(turn: () => void): void;
  /** Calls `run` once, when the time has passed; not after the end of this process or object. */
  after(delayMs: number, run: () => void): void;
}

/** A socket to an agent; both workerd's and ws's fit. */
export interface AgentSocket {
  send(data: string | Uint8Array): void;
  close(code: number, reason: string): void;
}

/** One JSON object a line; never secrets or values of a description. */
export type Logger = (event: string, fields?: Record<string, unknown>) => void;
