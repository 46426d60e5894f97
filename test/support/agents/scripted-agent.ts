/**
 * An agent for tests of the control plane: the real protocol on a real socket, without an engine. It does
 * only what a test requests. Its channels are in scripted-log.ts and scripted-stream.ts.
 */
import { once } from 'node:events';
import { WebSocket } from 'ws';
import type { Channels } from '../../../agent/channels/channels.ts';
import { type Assignment, keyOf, type ServiceKey } from '../../../shared/protocol/assignment.ts';
import { closeCodes } from '../../../shared/protocol/close.ts';
import { decodeChunk, decodeDown, encode } from '../../../shared/protocol/codec.ts';
import type { ChannelDown, Down } from '../../../shared/protocol/down.ts';
import { CONNECT_PATH } from '../../../shared/protocol/enrolment.ts';
import { PULSE } from '../../../shared/protocol/pulse.ts';
import type { Swarm } from '../../../shared/protocol/swarm.ts';
import type {
  Condition,
  HostEngine,
  HostFacts,
  HostUsage,
  Observation,
  Up,
} from '../../../shared/protocol/up.ts';
import { PROTOCOL_HASH, PROTOCOL_VERSION } from '../../../shared/protocol/version.ts';
import type { Host } from '../hosts/hosts.ts';
import { eventually } from '../tools/eventually.ts';
import { type AgentKey, type Claims, enrol, enrolWith, newAgentKey, proofOf } from './enrolment.ts';
import { ScriptedLog } from './scripted-log.ts';
import { ScriptedStream } from './scripted-stream.ts';

type DownOf<T extends Down['type']> = Extract<Down, { type: T }>;
type Hello = Extract<Up, { type: 'hello' }>;

/** Default name of a host. */
const NAME = 'host1';

export interface AgentOptions {
  facts?: Partial<HostFacts>;
  inventory?: Observation[];
  /** The highest ids that the host has seen. */
  highest?: NonNullable<Hello['highest']>;
  swarm?: Swarm;
  engine?: HostEngine;
}

export class ScriptedAgent {
  /** All messages of the control plane, in order. */
  readonly messages: Down[] = [];
  /** The assignments, by `service.generation`: the map that sync, start and stop edit. */
  readonly assignments = new Map<string, Assignment>();
  readonly logs: ScriptedLog[] = [];
  readonly streams: ScriptedStream[] = [];
  /** Carries all channels in place of the test, as an agent does. */
  carrier: Pick<Channels, 'receive' | 'chunk'> | undefined;
  closeCode: number | undefined;
  closeReason = '';
  readonly #socket: WebSocket;
  readonly #allAssignments = new Map<string, Assignment>();
  #sequence = 0;
  #answeredPulses = 0;

  constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.on('message', (data: Buffer, isBinary) => {
      if (isBinary) this.#takeBytes(data);
      else if (data.toString() === PULSE) this.#answeredPulses += 1;
      else this.#take(decodeDown(data.toString()));
    });
    socket.on('close', (code, reason) => {
      this.closeCode = code;
      this.closeReason = reason.toString();
      for (const log of this.logs) log.closed = true;
    });
  }

  /** Opens a connection without a hello. Rejects with the status if it is refused. */
  static async dial(host: Host, authorization?: string): Promise<ScriptedAgent> {
    // Cloudflare's network states the address.
    const headers = {
      'cf-connecting-ip': '127.0.0.1',
      ...(authorization !== undefined && { authorization }),
    };
    const socket = new WebSocket(`${host.url().replace('http', 'ws')}${CONNECT_PATH}`, { headers });
    const agent = new ScriptedAgent(socket);
    await once(socket, 'open');
    return agent;
  }

  /** Connects an agent and says hello, which may be refused. */
  static async greet(host: Host, options: AgentOptions = {}): Promise<ScriptedAgent> {
    const agent = await ScriptedAgent.dial(host, await proofFor(host, options.facts?.name));
    agent.send(hello(host, options));
    return agent;
  }

  /**
   * Connects an agent, and waits for its welcome and its whole sync. As real agents do, it says hello again
   * if the control plane asks for that.
   */
  static async join(host: Host, options: AgentOptions = {}): Promise<ScriptedAgent> {
    const agent = await ScriptedAgent.greet(host, options);
    const mustGreetAgain = () => agent.closeCode === closeCodes.resync.code;
    await eventually(() => mustGreetAgain() || agent.all('sync').some(({ more }) => !more));
    return mustGreetAgain() ? ScriptedAgent.join(host, options) : agent;
  }

  all<T extends Down['type']>(type: T): DownOf<T>[] {
    return this.messages.filter((message): message is DownOf<T> => message.type === type);
  }

  send(message: Up): void {
    this.#socket.send(encode(message));
  }

  sendRaw(frame: string | Uint8Array): void {
    this.#socket.send(frame);
  }

  /** Resolves once the observations are acknowledged. */
  async report(...observations: Observation[]): Promise<void> {
    await this.#acknowledged({ observations });
  }

  async reportForgotten(...services: number[]): Promise<void> {
    await this.#acknowledged({ forgotten: services });
  }

  async reportConditions(...conditions: Condition[]): Promise<void> {
    await this.#acknowledged({ conditions });
  }

  async use(usage: HostUsage): Promise<void> {
    await this.#acknowledged({ usage });
  }

  async #acknowledged(report: Partial<Extract<Up, { type: 'report' }>>): Promise<void> {
    const sequence = ++this.#sequence;
    this.send({ type: 'report', observations: [], forgotten: [], ...report, sequence });
    const acked = () => this.all('ack').some((ack) => ack.sequence >= sequence);
    await eventually(() => acked() || this.closeCode !== undefined);
    if (!acked()) throw new Error(`closed with ${this.closeCode} before the report was acknowledged`);
  }

  /** Waits until all `count` services of the execution are assigned; in the order of the starts. */
  assigned(execution: number, count?: 1): Promise<[Assignment, ...Assignment[]]>;
  assigned(execution: number, count: 2 | 3): Promise<[Assignment, Assignment, ...Assignment[]]>;
  assigned(execution: number, count: number): Promise<Assignment[]>;
  assigned(execution: number, count = 1): Promise<Assignment[]> {
    return eventually(() => {
      const found = [...this.assignments.values()].filter((one) => one.execution === execution);
      return found.length >= count && found;
    });
  }

  /** Waits for the start of the first service of the execution, which has no other to begin with. */
  async only(execution: number): Promise<Assignment> {
    return (await this.assigned(execution))[0];
  }

  /** The same. The service runs from then on. */
  async runs(execution: number): Promise<Assignment> {
    const one = await this.only(execution);
    await this.report(seen.running(one));
    return one;
  }

  /** All assignments of the execution that the agent has ever received. */
  known(execution: number): Assignment[] {
    return [...this.#allAssignments.values()].filter((one) => one.execution === execution);
  }

  /** Waits until the agent has been ordered to stop every service of the execution. */
  async released(execution: number): Promise<void> {
    await eventually(() => [...this.assignments.values()].every((one) => one.execution !== execution));
  }

  /** Waits for the `nth` channel to the output of the service that the control plane opens. */
  log(service: number, nth = 0): Promise<ScriptedLog> {
    return eventually(() => this.logs.filter((log) => log.opened.service === service)[nth]);
  }

  /** Waits for the `nth` channel to a container that the control plane opens. */
  stream(nth = 0): Promise<ScriptedStream> {
    return eventually(() => this.streams[nth]);
  }

  closed(): Promise<number> {
    return eventually(() => this.closeCode);
  }

  /** Resolves once a ping is answered, which the runtime does without the control plane. */
  async ping(): Promise<void> {
    this.#socket.ping();
    await once(this.#socket, 'pong');
  }

  /** Resolves once a pulse is answered, which the runtime does without the control plane (P179). */
  async pulse(): Promise<void> {
    const answered = this.#answeredPulses;
    this.sendRaw(PULSE);
    await eventually(() => this.#answeredPulses > answered);
  }

  async close(): Promise<void> {
    this.#socket.close(1000);
    await this.closed();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** Ends the connection without a word, whatever waits to be sent. */
  terminate(): void {
    this.#socket.terminate();
  }

  #takeBytes(frame: Uint8Array): void {
    if (this.carrier) this.carrier.chunk(decodeChunk(frame));
    else for (const stream of this.streams) stream.takeBytes(frame);
  }

  #take(message: Down): void {
    if (this.carrier && isOfChannel(message)) {
      this.carrier.receive(message);
      return;
    }
    this.messages.push(message);
    if (message.type === 'sync' || message.type === 'start') {
      const added = message.type === 'sync' ? message.assignments : [message.assignment];
      for (const assignment of added) {
        this.assignments.set(keyOf(assignment), assignment);
        this.#allAssignments.set(keyOf(assignment), assignment);
      }
    }
    if (message.type === 'stop') this.assignments.delete(keyOf(message));
    if (message.type === 'channel.open') {
      if (message.target.kind === 'output') this.logs.push(new ScriptedLog(message, this.#socket));
      else this.streams.push(new ScriptedStream(message, this.#socket));
    }
    for (const one of [...this.logs, ...this.streams]) one.take(message);
  }
}

const isOfChannel = (message: Down): message is ChannelDown => message.type.startsWith('channel.');

/** Keys of the hosts that tests have registered, by control plane and name. */
const registered = new WeakMap<Host, Map<string, Promise<{ id: number; key: AgentKey }>>>();

/**
 * The host of that name, registered at the first call: with `token`, or with a token that is written into the
 * database. In the latter case this process keeps a connection to the database until its next garbage
 * collection.
 */
export function registeredHost(
  host: Host,
  name = NAME,
  token?: string,
): Promise<{ id: number; key: AgentKey }> {
  const known = registered.get(host) ?? new Map<string, Promise<{ id: number; key: AgentKey }>>();
  registered.set(host, known);
  const found = known.get(name) ?? register(host, name, token);
  known.set(name, found);
  return found;
}

async function register(host: Host, name: string, token?: string): Promise<{ id: number; key: AgentKey }> {
  const key = newAgentKey();
  const place = { url: host.url(), deployment: host.deployment };
  if (token !== undefined) return { id: await enrolWith(token, place, name, key), key };
  const db = await host.openDb();
  try {
    return { id: await enrol(place, db, name, key), key };
  } finally {
    await db.close();
  }
}

/** The Authorization header of one connection of the host of that name. */
export async function proofFor(host: Host, name?: string, changes: Claims = {}): Promise<string> {
  const { id, key } = await registeredHost(host, name);
  return proofOf(id, host.deployment, key, changes);
}

export function hello(
  host: Pick<Host, 'deployment'>,
  { facts = {}, inventory = [], ...rest }: AgentOptions = {},
): Hello {
  return {
    type: 'hello',
    version: PROTOCOL_VERSION,
    hash: PROTOCOL_HASH,
    deployment: host.deployment,
    engine: { id: 'scripted' },
    inventory,
    ...rest,
    host: {
      name: NAME,
      address: '192.0.2.7',
      labels: [],
      memoryBytes: 64 * 1024 ** 3,
      cores: 64,
      agentVersion: 'test',
      engineVersion: 'none',
      ...facts,
    },
  };
}

const key = ({ service, generation }: ServiceKey): ServiceKey => ({ service, generation });

/** Observations of a container, built from its assignment. */
export const seen = {
  created: (of: ServiceKey): Observation => ({ ...key(of), state: 'created', containerId: `c${of.service}` }),
  /** Each published port p is host port 30000 + p. */
  running: (of: Assignment): Observation => ({
    ...key(of),
    state: 'running',
    containerId: `c${of.service}`,
    ipAddress: '172.18.0.2',
    ports: of.ports
      .filter(({ publish }) => publish !== false)
      .map((one) => ({ ...one, hostPort: 30_000 + one.port })),
    startedAtMs: 1_000,
  }),
  exited: (of: ServiceKey, exitCode: number, outOfMemory = false): Observation => ({
    ...key(of),
    state: 'exited',
    containerId: `c${of.service}`,
    exitCode,
    outOfMemory,
    finishedAtMs: 2_000,
  }),
  failed: (of: ServiceKey, message: string, temporary = false): Observation => ({
    ...key(of),
    state: 'failed',
    temporary,
    message,
  }),
  gone: (of: ServiceKey): Observation => ({ ...key(of), state: 'gone' }),
};
