/** A log relay between the agent's end of its connections and a subscriber. */

import { AgentConnection } from '../../../control-plane/coordinator/connections/agent-connection.ts';
import { noTraffic, type Traffic } from '../../../control-plane/coordinator/connections/traffic.ts';
import { LogRelay, type LogSource } from '../../../control-plane/coordinator/streams/log-relay.ts';
import { encode, encodeChunk } from '../../../shared/protocol/codec.ts';
import { encodeFrame, FRAME_HEADER_BYTES, type LogPosition } from '../../../shared/streams/log-frames.ts';
import type { LogFormat } from '../../../shared/streams/targets.ts';
import { MemorySocket } from '../agents/model-agent.ts';

/** A relay with the state of its service, and the agent's end of its connections. */
export class RelayRig {
  source: LogSource = { generation: 1, channels: undefined, removed: false, final: false };
  connection: AgentConnection | undefined;
  done = 0;
  /** What the agent has sent beyond its permissions. */
  readonly refused: string[] = [];
  socket = new MemorySocket();
  readonly relay: LogRelay;
  readonly #logs: Traffic;
  #streams = 100;

  /** `logs` counts the open logs. */
  constructor(from?: LogPosition, logs: Traffic = noTraffic(), format: LogFormat = 'raw') {
    this.#logs = logs;
    const done = () => {
      this.done += 1;
    };
    this.relay = new LogRelay({ service: 7, format, source: () => this.source, done, from });
  }

  /** Connects the agent. */
  attach(): this {
    this.socket = new MemorySocket();
    const events = {
      message: () => {},
      refused: (what: string) => this.refused.push(what),
      useAllowance: () => 0,
      closed: () => {
        this.connection = undefined;
        this.source = { ...this.source, channels: undefined };
      },
    };
    this.#streams += 100;
    this.connection = new AgentConnection(this.socket, events, this.#streams, this.#logs);
    this.source = { ...this.source, channels: this.connection.channels };
    this.relay.update();
    return this;
  }

  know(changes: Partial<LogSource>): void {
    this.source = { ...this.source, ...changes };
    this.relay.update();
  }

  get opens() {
    return this.socket.all('channel.open');
  }

  get channel(): number {
    return this.opens.at(-1)?.channel ?? -1;
  }

  /** Bytes granted so far on the latest channel. */
  get granted(): number {
    const more = this.socket.all('channel.credit').filter(({ channel }) => channel === this.channel);
    return (this.opens.at(-1)?.credit ?? 0) + more.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** Sends a frame of output. With a number, as many bytes as the frame has in all. */
  send(next: number, bytes: number | Uint8Array): void {
    const payload = typeof bytes === 'number' ? new Uint8Array(bytes - FRAME_HEADER_BYTES) : bytes;
    const { service = 7, generation = 1 } = this.opens.at(-1) ?? {};
    const frame = encodeFrame({ service, position: { generation, offset: next }, payload });
    this.connection?.receive(encodeChunk({ channel: this.channel, payload: frame }));
  }

  end(reason: 'exited' | 'missing' | 'failed', message = 'failed'): void {
    const { channel } = this;
    this.connection?.receive(
      encode(
        reason === 'failed'
          ? { type: 'channel.reset', channel, refused: false, message }
          : { type: 'channel.end', channel, ...(reason === 'missing' && { missing: true }) },
      ),
    );
  }
}

/** Lets the stream call `pull`. */
export const settle = () => new Promise((resolve) => setImmediate(resolve));
