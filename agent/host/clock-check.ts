/**
 * Clock check: compares this host's clock with the control plane's (P41) by exchanges that carry the time. A
 * difference that the transit time can explain counts as none. Pure.
 */
import type { Conditions } from './conditions.ts';

/**
 * One exchange. The control plane read its time between the sending of the message and the arrival of the
 * answer.
 */
export interface Exchange {
  sentMs: number;
  receivedMs: number;
  /** By the control plane's clock. */
  theirMs: number;
}

/** A larger difference sets the condition, because log lines carry the host's time. */
const NOTABLE_MS = 5000;
/** The condition ends only below this difference. */
const RECOVERED_MS = 4000;

/**
 * How far this clock is ahead (negative: behind), at least: the smallest difference that the exchange
 * permits.
 */
export function clockAheadMs({ sentMs, receivedMs, theirMs }: Exchange): number {
  if (sentMs > theirMs) return sentMs - theirMs;
  return Math.min(0, receivedMs - theirMs);
}

/** Sets or clears the condition `clock-skew` after an exchange. */
export function compareClocks(exchange: Exchange, conditions: Pick<Conditions, 'textOf' | 'set'>): void {
  const wasSet = conditions.textOf('clock-skew') !== undefined;
  conditions.set('clock-skew', clockText(exchange, wasSet));
}

/** The condition's text after an exchange. `wasSet`: the condition was set before. */
export function clockText(exchange: Exchange, wasSet: boolean): string | undefined {
  const aheadMs = clockAheadMs(exchange);
  if (Math.abs(aheadMs) <= (wasSet ? RECOVERED_MS : NOTABLE_MS)) return undefined;
  const seconds = Math.round(Math.abs(aheadMs) / 1000);
  return `the host's clock is ${seconds} s ${aheadMs > 0 ? 'ahead of' : 'behind'} the control plane's: set it by NTP`;
}
