/**
 * The agent's side of a connection in memory, for tests of the coordinator. It records what it receives, and
 * sends what the test requests.
 */

import type { AgentConnection } from '../../../control-plane/coordinator/connections/agent-connection.ts';
import type { Coordinator } from '../../../control-plane/coordinator/coordinator.ts';
import type { AgentSocket } from '../../../control-plane/coordinator/ports.ts';
import type { Assignment } from '../../../shared/protocol/assignment.ts';
import { decodeDown, encode, encodeChunk } from '../../../shared/protocol/codec.ts';
import type { Down } from '../../../shared/protocol/down.ts';
import type { HostFacts, Observation, Up } from '../../../shared/protocol/up.ts';
import { PROTOCOL_HASH, PROTOCOL_VERSION } from '../../../shared/protocol/version.ts';
import { encodeFrame } from '../../../shared/streams/log-frames.ts';
import { hostFacts } from '../rigs/core-rig.ts';
import { eventually } from '../tools/eventually.ts';

/** The other end of a connection: records the messages sent and the close. */
export class MemorySocket implements AgentSocket {
  readonly sent: Down[] = [];
  closeCode: number | undefined;
  closeReason = '';
  /** If set, sending fails as on a closed socket. */
  broken = false;

  send(data: string | Uint8Array): void {
    if (this.broken) throw new Error('the socket is closed');
    this.sent.push(decodeDown(String(data)));
  }

  close(code: number, reason: string): void {
    this.closeCode = code;
    this.closeReason = reason;
  }

  /** Waits for the close. Resolves to its code. */
  closed(): Promise<number> {
    return eventually(() => this.closeCode) as Promise<number>;
  }

  all<Type extends Down['type']>(type: Type): Extract<Down, { type: Type }>[] {
    return this.sent.filter((message): message is Extract<Down, { type: Type }> => message.type === type);
  }
}

/** What agents in memory have in common. */
export abstract class MemoryAgent {
  readonly socket = new MemorySocket();
  abstract readonly connection: AgentConnection;
  readonly facts: HostFacts;
  /** Sequence of the latest report. */
  protected sequence = 0;

  constructor(changes: Partial<HostFacts>) {
    this.facts = { ...hostFacts('one'), ...changes };
  }

  sendMessage(message: Up): void {
    this.connection.receive(encode(message));
  }

  hello(inventory: Observation[] = [], changes: Partial<Extract<Up, { type: 'hello' }>> = {}): void {
    const protocol = { version: PROTOCOL_VERSION, hash: PROTOCOL_HASH };
    this.sendMessage({
      ...{
        type: 'hello',
        ...protocol,
        deployment: 'test',
        host: this.facts,
        engine: { id: 'model' },
        inventory,
      },
      ...changes,
    });
  }

  async join(inventory: Observation[] = []): Promise<this> {
    this.hello(inventory);
    await this.received('sync');
    return this;
  }

  reportWith(changes: Partial<Extract<Up, { type: 'report' }>>): void {
    const sequence = ++this.sequence;
    this.sendMessage({ type: 'report', sequence, observations: [], forgotten: [], ...changes });
  }

  /** Waits for the first message of a type. */
  received<Type extends Down['type']>(type: Type): Promise<Extract<Down, { type: Type }>> {
    return eventually(() => this.socket.all(type)[0]) as Promise<Extract<Down, { type: Type }>>;
  }

  chunk(channel: number, payload: Uint8Array): void {
    this.connection.receive(encodeChunk({ channel, payload }));
  }
}

export class ModelAgent extends MemoryAgent {
  readonly connection: AgentConnection;

  constructor(coordinator: Coordinator, hostId: number, changes: Partial<HostFacts> = {}) {
    super(changes);
    this.connection = coordinator.agents.connect(this.socket, hostId);
  }

  report(observations: Observation[], forgotten: number[] = []): void {
    this.reportWith({ observations, forgotten });
  }

  async reportAndWait(...observations: Observation[]): Promise<void> {
    this.report(observations);
    const { sequence } = this;
    await eventually(() => this.socket.all('ack').some((ack) => ack.sequence >= sequence));
  }

  /** Reports on one start, each time once the report before is acknowledged. */
  async reportEach({ service, generation }: Assignment, ...reports: object[]): Promise<void> {
    for (const one of reports) await this.reportAndWait({ ...one, service, generation } as Observation);
  }

  /** Waits for the `n`th start, counted from 1, in a sync or alone. */
  started(n = 1): Promise<Assignment> {
    return eventually(() => {
      const synced = this.socket.all('sync').flatMap(({ assignments }) => assignments);
      return [...synced, ...this.socket.all('start').map(({ assignment }) => assignment)][n - 1];
    }) as Promise<Assignment>;
  }

  /** The channel to output that was opened last. */
  get log(): Extract<Down, { type: 'channel.open' }> {
    const opened = this.socket.all('channel.open').findLast(({ target }) => target.kind === 'output');
    if (!opened) throw new Error('no log is open');
    return opened;
  }

  /** Sends output of that log, up to the position `next`. */
  write(next: number, text: string): void {
    const { channel, service, generation } = this.log;
    const position = { generation, offset: next };
    this.chunk(channel, encodeFrame({ service, position, payload: Buffer.from(text) }));
  }

  /** `missing`: there is no such output. */
  endLog(missing?: true): void {
    this.sendMessage({ type: 'channel.end', channel: this.log.channel, ...(missing && { missing }) });
  }

  drop(): void {
    this.connection.closed();
  }
}
