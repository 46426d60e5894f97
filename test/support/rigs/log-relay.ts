/** A log relay between the agent's end of its connections and a subscriber. */
import { AgentConnection } from '../../../control-plane/coordinator/connections/agent-connection.ts';
import { noTraffic, type Traffic } from '../../../control-plane/coordinator/connections/traffic.ts';
import { LogRelay, type LogSource } from '../../../control-plane/coordinator/streams/log-relay.ts';
import { encode, encodeChunk } from '../../../shared/protocol/codec.ts';
import type { LogFormat } from '../../../shared/protocol/down.ts';
import type { LogPosition } from '../../../shared/streams/log-frames.ts';
import { MemorySocket } from '../agents/model-agent.ts';

/** A relay with the state of its service, and the agent's end of its connections. */
export class RelayRig {
  source: LogSource = { generation: 1, server: undefined, removed: false, final: false };
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
        this.source = { ...this.source, server: undefined };
      },
    };
    this.#streams += 100;
    this.connection = new AgentConnection(this.socket, events, this.#streams, this.#logs);
    this.source = { ...this.source, server: this.connection };
    this.relay.update();
    return this;
  }

  know(changes: Partial<LogSource>): void {
    this.source = { ...this.source, ...changes };
    this.relay.update();
  }

  get opens() {
    return this.socket.all('logs.open');
  }

  get stream(): number {
    return this.opens.at(-1)?.stream ?? -1;
  }

  /** Bytes granted so far on the latest stream. */
  get granted(): number {
    const more = this.socket.all('logs.credit').filter(({ stream }) => stream === this.stream);
    return (this.opens.at(-1)?.credit ?? 0) + more.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  send(next: number, bytes: number | Uint8Array): void {
    const payload = typeof bytes === 'number' ? new Uint8Array(bytes) : bytes;
    this.connection?.receive(encodeChunk({ stream: this.stream, next, payload }));
  }

  end(reason: 'exited' | 'missing' | 'failed', message?: string): void {
    const end = { type: 'logs.end' as const, stream: this.stream, reason };
    this.connection?.receive(encode(message === undefined ? end : { ...end, message }));
  }
}

/** Lets the stream call `pull`. */
export const settle = () => new Promise((resolve) => setImmediate(resolve));
