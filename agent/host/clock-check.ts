/**
 * Owns how far this host's clock is from the control plane's (PROTOCOL.md P41), from questions and answers that carry
 * the time. What may be the way there and back counts as no difference. Pure.
 */
import type { Conditions } from './conditions.ts';

/** One exchange: the answer's time was read between the sending of the question and the coming of the answer. */
export interface Exchange {
  sentMs: number;
  receivedMs: number;
  /** By the control plane's clock. */
  theirMs: number;
}

/** Clocks that differ more than this are worth a word, since log lines carry the host's. */
const NOTABLE_MS = 5000;
/** What was worth a word is so until it is clearly better. */
const RECOVERED_MS = 4000;

/** How far this clock is ahead, negative where it is behind; the least that the exchange allows. */
export function clockAheadMs({ sentMs, receivedMs, theirMs }: Exchange): number {
  if (sentMs > theirMs) return sentMs - theirMs;
  return Math.min(0, receivedMs - theirMs);
}

/** Says of the clock what an exchange tells. */
export function compareClocks(exchange: Exchange, conditions: Pick<Conditions, 'textOf' | 'set'>): void {
  const wasSet = conditions.textOf('clock-skew') !== undefined;
  conditions.set('clock-skew', clockText(exchange, wasSet));
}

/** What is to be said of the clock after an exchange; `wasTold` where something was said before. */
export function clockText(exchange: Exchange, wasSet: boolean): string | undefined {
  const aheadMs = clockAheadMs(exchange);
  if (Math.abs(aheadMs) <= (wasSet ? RECOVERED_MS : NOTABLE_MS)) return undefined;
  const seconds = Math.round(Math.abs(aheadMs) / 1000);
  return `the host's clock is ${seconds} s ${aheadMs > 0 ? 'ahead of' : 'behind'} the control plane's: set it by NTP`;
}
