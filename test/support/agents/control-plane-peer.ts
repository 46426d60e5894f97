/**
 * The control plane's side of the agent protocol, for tests of the agent: a real WebSocket server that does
 * only what a test requests.
 */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { type WebSocket, WebSocketServer } from 'ws';
import type { Assignment, IdRange, ServiceKey } from '../../../shared/protocol/assignment.ts';
import { type Chunk, decodeChunk, decodeUp, encode, encodeChunk } from '../../../shared/protocol/codec.ts';
import type { Down } from '../../../shared/protocol/down.ts';
import { PULSE } from '../../../shared/protocol/pulse.ts';
import type { Observation, Up } from '../../../shared/protocol/up.ts';
import { PROTOCOL_VERSION } from '../../../shared/protocol/version.ts';
import { decodeFrame, isFrameOf, type LogFrame } from '../../../shared/streams/log-frames.ts';
import { type OutputTarget, WINDOW_BYTES } from '../../../shared/streams/targets.ts';
import { eventually } from '../tools/eventually.ts';

export interface WelcomeOptions {
  reportPeriodMs?: number;
  leaseMs?: number;
  pulseMs?: number;
  spreadMs?: number;
  unknown?: IdRange[];
}

type ChannelEnd = Extract<Up, { type: 'channel.end' | 'channel.reset' }>;

/** One connection of an agent, with all its messages. */
export class PeerConnection {
  readonly messages: Up[] = [];
  readonly chunks: Chunk[] = [];
  readonly authorization: string | undefined;
  readonly path: string | undefined;
  pulses = 0;
  closeCode: number | undefined;
  readonly #socket: WebSocket;
  /** Channels whose credit returns with each chunk. */
  readonly #granted = new Set<number>();
  #revision = 0;

  constructor(socket: WebSocket, authorization: string | undefined, path: string | undefined) {
    this.#socket = socket;
    this.authorization = authorization;
    this.path = path;
    socket.on('message', (data: Buffer, isBinary) => {
      if (isBinary) this.#receive(decodeChunk(data));
      else if (data.toString() === PULSE) this.pulses += 1;
      else this.messages.push(decodeUp(data.toString()));
    });
    socket.on('close', (code) => {
      this.closeCode = code;
    });
  }

  send(message: Down): void {
    this.#socket.send(encode(message));
  }

  sendText(text: string): void {
    this.#socket.send(text);
  }

  sendChunk(chunk: Chunk): void {
    this.#socket.send(encodeChunk(chunk));
  }

  close(code: number, reason = ''): void {
    this.#socket.close(code, reason);
  }

  /** Becomes silent for good, as a host does whose power fails. */
  freeze(): void {
    this.#socket.pause();
  }

  terminate(): void {
    this.#socket.terminate();
  }

  welcome(assignments: Assignment[] = [], { unknown, ...options }: WelcomeOptions = {}): void {
    const welcome = { type: 'welcome', version: PROTOCOL_VERSION, session: 's' } as const;
    this.send({ ...welcome, reportPeriodMs: 60_000, timeMs: Date.now(), ...options });
    const sync = { type: 'sync', revision: this.#revision, assignments, more: false } as const;
    this.send(unknown ? { ...sync, unknown } : sync);
  }

  /** Welcomes the agent with these services, and waits until all of them run. */
  async run(assignments: Assignment[], options?: WelcomeOptions): Promise<void> {
    this.welcome(assignments, options);
    for (const { service } of assignments) await this.reported(service, 'running');
  }

  start(assignment: Assignment): void {
    this.send({ type: 'start', revision: ++this.#revision, assignment });
  }

  stop({ service, generation }: { service: number; generation: number }): void {
    this.send({ type: 'stop', revision: ++this.#revision, service, generation });
  }

  hello(): Promise<Extract<Up, { type: 'hello' }>> {
    return found(() => this.messages.find((message) => message.type === 'hello'));
  }

  reports(): Extract<Up, { type: 'report' }>[] {
    return this.messages.filter((message) => message.type === 'report');
  }

  observations(service: number): Observation[] {
    return this.reports().flatMap(({ observations }) => observations.filter((o) => o.service === service));
  }

  /** Waits until the service is reported in this state. */
  reported<State extends Observation['state']>(
    service: number,
    state: State,
    timeoutMs?: number,
  ): Promise<Extract<Observation, { state: State }>> {
    const isWanted = (o: Observation): o is Extract<Observation, { state: State }> => o.state === state;
    return found(() => this.observations(service).find(isWanted), timeoutMs);
  }

  /** Opens a channel to the output of a start. Without a `credit` of its own it has whatever it needs. */
  openOutput(
    channel: number,
    { service, generation }: ServiceKey,
    { credit, ...asked }: Partial<OutputTarget> & { credit?: number } = {},
  ): void {
    if (credit === undefined) this.#granted.add(channel);
    const target = { kind: 'output', offset: 0, format: 'raw', ...asked } as const;
    const open = { type: 'channel.open', channel, service, generation, target } as const;
    this.send({ ...open, credit: credit ?? WINDOW_BYTES });
  }

  /** What has arrived on a channel. */
  payload(channel: number): Buffer {
    return Buffer.concat(
      this.chunks.filter((chunk) => chunk.channel === channel).map((chunk) => chunk.payload),
    );
  }

  /** What has arrived on a channel to output. Throws unless each chunk is one whole frame. */
  frames(channel: number): LogFrame[] {
    const chunks = this.chunks.filter((chunk) => chunk.channel === channel);
    return chunks.map(({ payload }) => {
      const frame = decodeFrame(payload);
      const start = { service: frame.service, generation: frame.position.generation };
      if (!isFrameOf(start, payload)) throw new Error('a chunk of output is not one whole frame');
      return frame;
    });
  }

  /** The output that has arrived on a channel. */
  output(channel: number): Buffer {
    return Buffer.concat(this.frames(channel).map(({ payload }) => payload));
  }

  /** The position after the output that has arrived on a channel. */
  nextOffset(channel: number): number {
    return this.frames(channel).at(-1)?.position.offset ?? 0;
  }

  /** Waits for the end of a channel. */
  ended(channel: number, timeoutMs?: number): Promise<ChannelEnd> {
    const isEnd = (message: Up): message is ChannelEnd =>
      (message.type === 'channel.end' || message.type === 'channel.reset') && message.channel === channel;
    return found(() => this.messages.find(isEnd), timeoutMs);
  }

  #receive(chunk: Chunk): void {
    const { channel, payload } = chunk;
    this.chunks.push(chunk);
    if (this.#granted.has(channel)) this.send({ type: 'channel.credit', channel, bytes: payload.length });
  }
}

export class ControlPlanePeer {
  readonly connections: PeerConnection[] = [];
  readonly url: URL;
  readonly #server: WebSocketServer;

  constructor(server: WebSocketServer) {
    this.#server = server;
    this.url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    server.on('connection', (socket, { headers, url }) => {
      this.connections.push(new PeerConnection(socket, headers.authorization, url));
    });
  }

  static async open(): Promise<ControlPlanePeer> {
    const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
    await once(server, 'listening');
    const peer = new ControlPlanePeer(server);
    onTestFinished(() => peer.close());
    return peer;
  }

  /** Waits for the `n`th connection, counted from 1. */
  connection(n = 1): Promise<PeerConnection> {
    return found(() => this.connections[n - 1]);
  }

  close(): void {
    for (const connection of this.connections) connection.terminate();
    this.#server.close();
  }
}

/** Waits until the probe returns a value. */
export function found<T>(probe: () => T | undefined, timeoutMs?: number): Promise<T> {
  return eventually(() => {
    const value = probe();
    if (value === undefined) throw new Error('the awaited value did not appear');
    return value;
  }, timeoutMs);
}
