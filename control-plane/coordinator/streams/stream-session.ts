/**
 * A stream from its request to its end: obtains its placement, and joins the agent there. The same on Node
 * and at a gateway.
 */
import type { ServiceKey } from '../../../shared/protocol/assignment.ts';
import { type StreamOpening, targetOf } from '../../../shared/streams/client-messages.ts';
import type { StreamTarget } from '../../../shared/streams/targets.ts';
import { streamDeed } from '../../core/accounts/audit.ts';
import type { StreamRules } from '../../core/model/stream-rules.ts';
import type { StreamRequest } from '../../core/streams/stream-request.ts';
import type { ChannelPort } from '../connections/open-channels.ts';
import type { Clock } from '../ports.ts';
import type { ClientEnd, ClientLink } from './client-end.ts';
import type { ChannelAddress } from './placement.ts';
import type { PlacementSource } from './placements.ts';
import { followStream } from './stream-placement.ts';
import { StreamRelay } from './stream-relay.ts';

export interface StreamSessionDeps extends PlacementSource {
  clock: Pick<Clock, 'after' | 'monotonicMs'>;
  rules: StreamRules;
  /** The channels of the agent's connection; undefined if it has ended. */
  channelsAt(at: ChannelAddress): Promise<ChannelPort | undefined>;
}

interface Stream {
  begin(channels: ChannelPort, key: ServiceKey, target: StreamTarget): void;
  close(reason: string): void;
}

/**
 * Begins the stream that `create` returns where its service is, and closes it when it must end. `over` must
 * be called once it is over.
 */
export function beginStream<T extends Stream>(
  { subscriber, serviceId, doer }: StreamRequest,
  wanted: StreamOpening,
  deps: StreamSessionDeps,
  create: (options: Pick<StreamSessionDeps, 'clock'> & { times: StreamRules; over: () => void }) => T,
): T {
  let isOver = false;
  const over = () => {
    isOver = true;
    leavePlacement();
  };
  const stream = create({ clock: deps.clock, times: deps.rules, over });
  const entry = { ...doer, ...streamDeed(wanted, deps.rules.auditedCommandLength) };
  const leavePlacement = followStream(deps, { subscriber, serviceId }, entry, {
    placed: async ({ at, generation }) => {
      const channels = at && (await deps.channelsAt(at));
      // A client that has left meanwhile would leave its stream open at the agent.
      if (isOver) return;
      if (channels) stream.begin(channels, { service: serviceId, generation }, targetOf(wanted));
      else stream.close('The host has lost its connection. Try again.');
    },
    ended: ({ message }) => stream.close(message),
  });
  return stream;
}

/** Joins a client with a new stream. */
export const joinClient = (
  client: ClientEnd,
  request: StreamRequest,
  wanted: StreamOpening,
  deps: StreamSessionDeps,
): ClientLink => beginStream(request, wanted, deps, (options) => new StreamRelay({ ...options, client }));
