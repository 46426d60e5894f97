/**
 * Opens the output of a service: follows where the service is, and joins what its starts have written. The
 * same on Node and in a Worker, which differ in how they reach the agent of a host.
 */

import { MAX_LOG_STREAMS } from '../../../shared/protocol/codec.ts';
import type { LogFormat, LogPart } from '../../../shared/protocol/down.ts';
import type { LogPosition } from '../../../shared/streams/log-frames.ts';
import { OperationError } from '../../core/model/errors.ts';
import type { LogSubscriber } from '../../core/streams/channel-subscriber.ts';
import { LogWindows } from '../../core/streams/log-windows.ts';
import type { AgentSession } from '../agents/agent-session.ts';
import type { LogServer } from '../connections/session-peer.ts';
import { LogRelay } from './log-relay.ts';
import { type ChannelAddress, type Placed, placementLines } from './placement.ts';
import type { PlacementSource } from './placements.ts';

/**
 * Streams the output of a service from its first byte. The stream ends when no more output will come, and is
 * aborted if the subscriber loses access. With `from` it begins there, in frames
 * (shared/streams/log-frames.ts). `part`: only what there is, or the last lines of the last start. Rejects with
 * OperationError.
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
  /** The latest address of the connection. */
  at: ChannelAddress;
  /** Undefined while the connection serves none. */
  readonly server: LogServer | undefined;
  /** Resolves once the first log is open or refused, and rejects with the refusal. */
  opened(): Promise<void>;
  /** Resolves once all its logs are closed. */
  close(): Promise<void>;
}

export interface ServiceLogsDeps extends PlacementSource {
  /**
   * The logs at that address. `window`: what the reader holds, in bytes. `free` is called when the server may
   * be tried again.
   */
  logsAt(at: ChannelAddress, window: number, free: () => void): HostLogs;
}

/** Open logs share the memory of `windows`. */
export const serviceLogs =
  (deps: ServiceLogsDeps, windows = new LogWindows()): OpenLog =>
  async (subscriber, serviceId, format, from, part = {}) => {
    const { lastLine, ...reader } = subscriber;
    const id = crypto.randomUUID();
    const request = { subscriber: reader, serviceId, id, for: { kind: 'log', part } } as const;
    const placement = (await deps.place(request)).getReader();
    let placed: Placed | undefined;
    let connection: string | undefined;
    let logs: HostLogs | undefined;
    const window = windows.take();
    const source = () => {
      const { generation = 0, removed = false, final = false, at = null, away } = placed ?? {};
      const key = at ? connectionOf(at) : undefined;
      if (key !== connection) logs = at ? deps.logsAt(at, window, () => relay.update()) : undefined;
      else if (logs && at) logs.at = at;
      connection = key;
      return { generation, removed, away, final, server: logs?.server };
    };
    const done = () => {
      windows.giveBack(window);
      void placement.cancel().catch(() => {});
      // On workerd, the cancellation is not noticed where the placement is.
      void deps.left(id).catch(() => {});
    };
    const relay = new LogRelay({ service: serviceId, format, source, done, from, window, part });
    const follow = async () => {
      for await (const line of placementLines(placement)) {
        if (!line) relay.heartbeat();
        else if ('ended' in line) {
          // The runtime drops whatever a request has still to send once its response has ended.
          await logs?.close();
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
    follow().catch(async (error) => {
      first.reject(error);
      await logs?.close();
      relay.abort(error);
    });
    await first.promise;
    return relay.stream;
  };

const connectionOf = ({ hostId, gateway }: ChannelAddress): string => gateway?.connection ?? `host ${hostId}`;

export const noFreeStream = (host: string | number): OperationError =>
  new OperationError(
    'unavailable',
    `Host ${host} already serves ${MAX_LOG_STREAMS} logs, which is the limit. Try again later.`,
  );

/** The logs of agents whose connections are in this process. */
export const ownLogs =
  (agents: {
    session(hostId: number | null): Pick<AgentSession, 'peer'> | undefined;
  }): ServiceLogsDeps['logsAt'] =>
  (at) => {
    const { hostId, host } = at;
    const serverNow = (): LogServer | undefined => {
      const logs = agents.session(hostId)?.peer.logs;
      return logs && 'openLog' in logs ? logs : undefined;
    };
    // The agent would refuse the stream after the response has begun.
    const isFull = (serverNow()?.openLogs ?? 0) >= MAX_LOG_STREAMS;
    return {
      at,
      get server() {
        return isFull ? undefined : serverNow();
      },
      opened: async () => {
        if (isFull) throw noFreeStream(host);
      },
      close: async () => {},
    };
  };
