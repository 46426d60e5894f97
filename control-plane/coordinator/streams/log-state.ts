/** The current state of a service's log, and what follows it: a relay of the log, or a watch of its state. */
import type { LogSubscriber } from '../../core/streams/stream-subscriber.ts';
import type { AgentSession } from '../agents/agent-session.ts';
import type { Subscription } from './subscriptions.ts';

/** The host of a service's last start, and whether more output may come. */
export interface LogState {
  generation: number;
  session: AgentSession | undefined;
  /** The host was removed, and its logs with it. */
  removed: boolean;
  /** Why there is no session, if that may last: a sentence. */
  away?: string | undefined;
  /** The service will not be started again. */
  final: boolean;
}

export interface LogReader extends Subscription {
  readonly subscriber: LogSubscriber;
  /** The state of the service or its host may have changed. */
  update(): void;
  /** Ends the stream after a line, which says why more is missing. */
  endWith(line: string): void;
  /** Aborts the stream, so that the subscriber does not take the output so far for the whole. */
  abort(cause: Error): void;
}
