/**
 * Opens the output of a service: follows where the service is, and joins what its starts have written. The
 * same on Node and in a Worker, which differ in how they reach the agent of a host.
 */

import type { LogPosition } from '../../../shared/streams/log-frames.ts';
import { type LogFormat, type LogPart, MAX_CHANNELS } from '../../../shared/streams/targets.ts';
import { OperationError } from '../../core/model/errors.ts';
import type { LogSubscriber } from '../../core/streams/channel-subscriber.ts';
import type { AgentSession } from '../agents/agent-session.ts';
import type { ChannelPort } from '../connections/open-channels.ts';
import { LogRelay } from './log-relay.ts';
import type { ChannelAddress, Placed } from './placement.ts';
import type { PlacementSource } from './placements.ts';

/**
 * Streams the output of a service from its first byte. The stream ends when no more output will come, and is
 * aborted if the subscriber loses access. With `from` it begins there, in frames
 * (shared/streams/log-frames.ts). `part`: only what there is, or the last lines of the last start. Rejects
 * with OperationError.
 */
export type OpenLog = (
  subscriber: LogSubscriber,
  serviceId: number,
  format: LogFormat,
  from?: LogPosition,
  part?: LogPart,
) => Promise<ReadableStream<Uint8Array>>;

/** The logs at one connection of a host, for one reader. */
export interface HostLogs {
  /** Undefined while the connection serves none. */
  readonly channels: ChannelPort | undefined;
  /** The connection has a later address. */
  moved(at: ChannelAddress): void;
  /** Resolves once the first log is open or can't be opened. Rejects if the host serves its maximum. */
  opened(): Promise<void>;
  close(): void;
}

export interface ServiceLogsDeps extends PlacementSource {
  /** The logs at that address. `free` is called when they may be tried again. */
  logsAt(at: ChannelAddress, free: () => void): HostLogs;
}

export const serviceLogs =
  (deps: ServiceLogsDeps): OpenLog =>
  async (subscriber, serviceId, format, from, part = {}) => {
    const { lastLine, ...reader } = subscriber;
    const placement = await deps.place({ subscriber: reader, serviceId, for: { kind: 'log', part } });
    let placed: Placed | undefined;
    let connection: string | undefined;
    let logs: HostLogs | undefined;
    const source = () => {
      const { generation = 0, removed = false, final = false, at = null, away } = placed ?? {};
      const key = at ? connectionOf(at) : undefined;
      if (key !== connection) logs = at ? deps.logsAt(at, () => relay.update()) : undefined;
      else if (at) logs?.moved(at);
      connection = key;
      return { generation, removed, away, final, channels: logs?.channels };
    };
    const done = () => {
      placement.leave();
    };
    const relay = new LogRelay({ service: serviceId, format, source, done, from, part });
    const follow = async () => {
      for (let line = await placement.next(); line; line = await placement.next()) {
        if (line === 'heartbeat') relay.heartbeat();
        else if ('ended' in line) {
          // The runtime drops whatever a request has still to send once its response has ended.
          logs?.close();
          if (line.lostAccess && lastLine !== undefined) relay.endWith(lastLine);
          else
            relay.abort(new OperationError(line.lostAccess ? 'unauthenticated' : 'unavailable', line.ended));
          return first.resolve();
        } else {
          const isFirst = !placed;
          placed = line;
          relay.update();
          if (isFirst) await logs?.opened();
          first.resolve();
        }
      }
      throw new Error('the coordinator has restarted');
    };
    const first = Promise.withResolvers<void>();
    follow().catch((error) => {
      first.reject(error);
      logs?.close();
      relay.abort(error);
    });
    await first.promise;
    return relay.stream;
  };

const connectionOf = ({ hostId, gateway }: ChannelAddress): string => gateway?.connection ?? `host ${hostId}`;

export const noFreeStream = (host: string | number): OperationError =>
  new OperationError(
    'unavailable',
    `Host ${host} already serves ${MAX_CHANNELS} logs, which is the limit. Try again later.`,
  );

interface Sessions {
  session(hostId: number | null): Pick<AgentSession, 'peer'> | undefined;
}

/** The channels of agents whose connections are in this process. */
export const ownChannels = (agents: Sessions, { hostId }: ChannelAddress): ChannelPort | undefined =>
  agents.session(hostId)?.peer.channels;

export const ownLogs =
  (agents: Sessions): ServiceLogsDeps['logsAt'] =>
  (at) => {
    // The agent would refuse the channel after the response has begun.
    const isFull = (ownChannels(agents, at)?.outputs ?? 0) >= MAX_CHANNELS;
    return {
      get channels() {
        return isFull ? undefined : ownChannels(agents, at);
      },
      moved() {},
      async opened() {
        if (isFull) throw noFreeStream(at.host);
      },
      close() {},
    };
  };
