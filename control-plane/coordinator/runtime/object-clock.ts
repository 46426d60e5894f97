/** Time in Durable Objects, and what messages cost there. */
import type { MessageCosts } from '../../guard/message-allowance.ts';
import type { Clock } from '../ports.ts';

/** workerd takes some 0.3 ms for each message, ten times as long as Node. */
export const MESSAGE_COSTS: MessageCosts = { own: 8_192, requested: 512 };

/** A timer keeps its object from hibernating, so each one is cancelled as soon as it is not needed. */
export const objectClock: Pick<Clock, 'nowMs' | 'monotonicMs' | 'defer' | 'after'> = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  defer: (turn) => setTimeout(turn, 0),
  after: (delayMs, run) => {
    const timer = setTimeout(run, delayMs);
    return () => clearTimeout(timer);
  },
};
