/**
 * Portions: what one connection passes between its gateway and the coordinator in one batch. Entries are
 * numbered, so that each one arrives once and in order, whatever becomes of the batches (P171). Pure.
 */

/** The end of a connection. */
export interface Closing {
  /** The code and the reason with which the socket closes; up, they have no meaning. */
  code: number;
  reason: string;
  /** Up: the time since the agent's last sign of life, if the gateway knows it (P180). */
  silentMs?: number;
}

/** Up, entries are messages of the agent; down, they are encoded messages to the agent. */
export interface Portion<T> {
  /** Id of the connection, which is never given twice. */
  connection: string;
  /** Number of the first entry. Each connection counts its entries from 0, up and down apart. */
  first: number;
  entries: T[];
  /** Present if the connection ends after these entries. */
  closing?: Closing;
}

/** Ids of connections that the receiver does not have, or whose entries do not follow one another. */
export type Rejected = string[];

/**
 * The entries of a portion that have not arrived before, if `received` have; undefined if others are missing
 * between them.
 */
export function newEntries<T>({ first, entries }: Portion<T>, received: number): T[] | undefined {
  if (first > received) return undefined;
  return entries.slice(received - first);
}
