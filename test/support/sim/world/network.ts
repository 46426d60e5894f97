/**
 * Simulated network: connections of agents to control planes. Each connection delivers late and in order, as
 * TCP does, and can be cut, delayed or half-open. A tap sees each frame when it is sent and when it arrives.
 */
import type { AgentConnection } from '../../../../control-plane/coordinator/connections/agent-connection.ts';
import { decodeUp, encode } from '../../../../shared/protocol/codec.ts';
import { PULSE } from '../../../../shared/protocol/pulse.ts';
import type { Up } from '../../../../shared/protocol/up.ts';
import type { WebSocket } from '../machine/ws.ts';
import type { RelayCheck } from '../plane/relay-check.ts';
import { Pipe, type Route } from './pipe.ts';
import type { Process, World } from './time.ts';

export type Frame = string | Uint8Array;
export type Direction = 'up' | 'down';

/** A control plane as the network sees it. */
export interface Server {
  readonly name: string;
  readonly process: Process;
  /** Agents dial it at this port; undefined if they dial any server. */
  readonly port: number | undefined;
  /** A gateway answers later, or ends the connection. */
  accept(link: Link, accepted: Accepted): void;
}

export type Accepted = (answer: AgentConnection | Refusal) => void;

/** The answer to an upgrade that is not accepted. */
export interface Refusal {
  status: number;
  body: object;
}

export const REMOVED: Refusal = { status: 403, body: { message: 'It was removed.', reason: 'revoked' } };

/** The connecting side. */
export interface Dialler {
  machine: string;
  /** Id of the host that the agent's key belongs to. */
  hostId: number;
  process: Process;
  route: Route;
  /** Whether the agent speaks another protocol. */
  isForeign: boolean;
}

/** Observes frames and never changes them. */
export interface Tap {
  sent(link: Link, direction: Direction, frame: Frame): void;
  arrived(link: Link, direction: Direction, frame: Frame): void;
  /** A pulse is answered. */
  pulsed(link: Link): void;
  /** The control plane receives this hello instead of the true one that has arrived. */
  falsified(hello: string): void;
}

const HANDSHAKE_MS = 10_000;
/** Time that `ws` waits for the close frame of the other side. */
const CLOSING_MS = 30_000;
const GONE = 1006;
const MAX_HISTORY = 30;

export class Network {
  readonly world: World;
  readonly links = new Set<Link>();
  readonly tap: Tap;
  /** Servers that accept connections, the newest first. Control planes behind gateways are not among them. */
  servers: Server[] = [];
  /** The gateway of a host, in a world that has gateways. */
  gatewayOf: ((hostId: number) => Server) | undefined;
  /** Control planes behind gateways. */
  coordinators = 0;
  /** How the next hello of a machine is changed on its way, by name. The checks see the true one. */
  readonly falsify = new Map<string, (hello: string) => string>();

  constructor(world: World, tap: Tap) {
    this.world = world;
    this.tap = tap;
  }

  dial(socket: WebSocket, dialler: Dialler): void {
    const { world } = this;
    const { route, process } = dialler;
    if (route.isCut) {
      world.after(HANDSHAKE_MS, () => socket.fail('Opening handshake has timed out'), process);
      return;
    }
    const server = this.gatewayOf?.(dialler.hostId) ?? this.#serverAt(socket.url);
    if (!server) {
      world.after(world.between(1, 5), () => socket.fail('connect ECONNREFUSED'), process);
      return;
    }
    const link = new Link(this, { ...dialler, socket, server });
    socket.link = link;
    this.links.add(link);
    link.open();
    world.after(
      HANDSHAKE_MS,
      () => socket.readyState === 0 && socket.fail('Opening handshake has timed out'),
      process,
    );
  }

  #serverAt(url: string): Server | undefined {
    const [first] = this.servers;
    if (first?.port === undefined) return first && this.world.pick(this.servers);
    return this.servers.find(({ port }) => port === Number(new URL(url).port));
  }

  /**
   * Closes the connections of a process that has ended. `silently` means that the other side receives no
   * close, as after a power failure.
   */
  ended(process: Process, silently: boolean): void {
    for (const link of [...this.links]) {
      if (link.process !== process && link.end !== process) continue;
      if (silently) link.blackhole(true, true);
      else link.cut(link.process === process ? 'agent' : 'server');
    }
  }
}

interface Ends extends Dialler {
  socket: WebSocket;
  server: Server;
}

export class Link {
  readonly machine: string;
  readonly hostId: number;
  readonly process: Process;
  /** The process that holds the control plane's end of the connection. */
  readonly end: Process;
  /** The control plane, or the gateway before a control plane has admitted the connection. */
  server: Server;
  /** Checks what passes between a gateway and the coordinator, if the connection is at a gateway. */
  relayed: { up: RelayCheck; down: RelayCheck } | undefined;
  readonly number: number;
  /** The last messages of the agent, which a hostile agent may send again. */
  readonly history: string[] = [];
  /** When the control plane's end last answered a pulse (P179). */
  pulsedMs: number | null = null;
  readonly #network: Network;
  readonly #socket: WebSocket;
  readonly #isForeign: boolean;
  readonly #accept: (accepted: Accepted) => void;
  #connection: AgentConnection | undefined;
  #framesToCut: number | null;
  #framesToHalfOpen: number | null;
  #isCut = false;
  /** The control plane's end has learnt that the connection is over. */
  #isOver = false;
  /** Frames that were under way when the connection was cut are lost. */
  #isDropping = false;
  readonly #pipes: Record<Direction, Pipe>;

  constructor(network: Network, { socket, machine, hostId, process, route, server, isForeign }: Ends) {
    this.machine = machine;
    this.hostId = hostId;
    this.process = process;
    this.server = server;
    this.#accept = (accepted) => server.accept(this, accepted);
    this.end = server.process;
    this.#network = network;
    this.#pipes = {
      up: new Pipe(network.world, route, server.process),
      down: new Pipe(network.world, route, process),
    };
    this.#socket = socket;
    this.#isForeign = isForeign;
    this.number = network.world.counts.get('connection') ?? 0;
    network.world.count('connection');
    this.#framesToCut = route.framesToCut;
    this.#framesToHalfOpen = route.framesToHalfOpen;
  }

  get name(): string {
    return `${this.machine}~${this.server.name}#${this.number}`;
  }

  /** True if there is another control plane. */
  get hasRival(): boolean {
    return Math.max(this.#network.servers.length, this.#network.coordinators) > 1;
  }

  open(): void {
    const { world } = this.#network;
    this.#pipes.up.send(() => {
      if (this.#isCut || !this.end.alive) {
        this.cut('server');
        return;
      }
      world.note(`${this.name} opens`);
      this.#accept((answer) => this.#accepted(answer));
    });
  }

  #accepted(answer: AgentConnection | Refusal): void {
    if ('status' in answer) {
      this.#pipes.down.send(() => this.#socket.refuse(answer.status, answer.body));
      this.#network.links.delete(this);
      return;
    }
    this.#connection = answer;
    if (this.#isOver) answer.closed();
    this.#pipes.down.send(() => {
      if (this.#isCut || this.#socket.readyState !== 0) return;
      this.#socket.readyState = 1;
      this.#socket.emit('open');
    });
  }

  /** The gateway has slept, and has taken its connections back. */
  restore(connection: AgentConnection): void {
    this.#connection = connection;
  }

  sendUp(frame: Frame, sent?: () => void): void {
    if (typeof frame === 'string') this.history.push(frame);
    if (this.history.length > MAX_HISTORY) this.history.shift();
    this.#send('up', frame, sent);
  }

  /** The control plane's end of the connection is open. */
  get isHeld(): boolean {
    return this.end.alive && this.#connection?.isClosed === false;
  }

  /** Sends a frame that the agent's program did not make. The checks of what an agent sends do not see it. */
  forge(frame: Frame): void {
    this.#pipes.up.send(() => {
      if (this.#isDropping || !this.#connection || this.#connection.isClosed) return;
      this.#receive(frame);
    });
  }

  sendDown(frame: Frame): void {
    this.#send('down', frame);
  }

  /** The coordinator sends a message by way of a gateway. */
  relayDown(text: string, from: Process): boolean {
    if (!this.#network.world.step(from, 'a frame down')) return false;
    this.#network.tap.sent(this, 'down', text);
    this.relayed?.down.entered(text, text, from);
    return true;
  }

  /** The coordinator has received a message by way of a gateway. */
  relayedUp(text: string): void {
    const shown = this.relayed?.up.cameOut(text);
    if (shown !== undefined) this.#network.tap.arrived(this, 'up', shown);
  }

  /** The machine that holds the end answers by itself. */
  pulse(): void {
    const { world, tap } = this.#network;
    this.#pipes.up.send(() => {
      if (this.#isDropping || !this.end.alive || this.#connection?.isClosed !== false) return;
      this.pulsedMs = Math.floor(world.nowMs);
      tap.pulsed(this);
      this.#pipes.down.send(
        () => this.#socket.readyState < 3 && this.#socket.emit('message', Buffer.from(PULSE), false),
      );
    });
  }

  ping(): void {
    this.#pipes.up.send(() =>
      this.#pipes.down.send(() => this.#socket.readyState < 3 && this.#socket.emit('pong')),
    );
  }

  closeUp(code: number, reason: string): void {
    const { world } = this.#network;
    world.note(`${this.name} agent closes with ${code} ${reason}`);
    this.#pipes.up.send(() => {
      this.#serverClosed();
      this.#pipes.down.send(() => this.#socket.over(code, reason));
    });
    world.after(CLOSING_MS, () => this.#socket.over(GONE, ''), this.process);
  }

  closeDown(code: number, reason: string): void {
    this.#network.world.note(`${this.name} server closes with ${code} ${reason}`);
    this.#pipes.down.send(() => {
      if (this.#socket.readyState === 0) this.#socket.fail('Unexpected server response');
      this.#socket.over(code, reason);
      this.#network.links.delete(this);
    });
  }

  /**
   * The agent ends the connection without a close frame. The operating system closes it for the other side,
   * if the network allows that.
   */
  abandon(): void {
    this.#pipes.up.send(() => this.#serverClosed());
    this.blackhole(false, true);
  }

  /**
   * Cuts the connection for both sides. Frames that are under way may still arrive. The control plane notices
   * it `lateMs` later than the agent.
   */
  cut(by: string, lateMs = 0): void {
    if (this.#isCut) return;
    this.#isCut = true;
    const { world, links } = this.#network;
    world.note(`${this.name} is cut by ${by}`);
    links.delete(this);
    this.#isDropping = world.chance(0.5);
    const tellServer = () => this.#pipes.up.send(() => this.#serverClosed());
    if (lateMs === 0) tellServer();
    else world.after(lateMs, tellServer);
    this.#pipes.down.send(() => {
      if (this.#socket.readyState === 0) this.#socket.fail('socket hang up');
      this.#socket.over(GONE, '');
    });
  }

  /** Loses all further frames of the given directions without an error. */
  blackhole(up: boolean, down: boolean): void {
    this.#pipes.up.isBlackhole ||= up;
    this.#pipes.down.isBlackhole ||= down;
  }

  #send(direction: Direction, frame: Frame, sent?: () => void): void {
    const { world, tap } = this.#network;
    const from = direction === 'up' ? this.process : this.end;
    if (!world.step(from, `a frame ${direction}`)) return;
    // The coordinator has sent it before, unless it is about a channel.
    const isRelayed = direction === 'down' && this.relayed && isOfSession(frame);
    if (isRelayed) this.relayed?.down.cameOut(String(frame));
    else tap.sent(this, direction, frame);
    this.#pipes[direction].send(() => this.#arrive(direction, frame));
    if (sent) world.after(0.2, sent, from);
    this.#countFrame();
    world.step(from, `a frame ${direction}, sent`);
  }

  #arrive(direction: Direction, frame: Frame): void {
    const { tap } = this.#network;
    if (this.#isDropping) return;
    if (direction === 'up') {
      if (!this.#connection || this.#connection.isClosed) return;
      this.#receive(this.#falsified(this.#isForeign ? foreign(frame) : frame), frame);
    } else if (this.#socket.readyState > 0 && this.#socket.readyState < 3) {
      tap.arrived(this, direction, frame);
      this.#socket.emit('message', Buffer.from(frame), typeof frame !== 'string');
    }
  }

  /** The control plane's end receives `frame`, whose true form is `shown` to the checks. */
  #receive(frame: Frame, shown = frame): void {
    const text = this.relayed ? sessionMessageIn(frame) : undefined;
    // The checks see a message when the coordinator receives it.
    if (text !== undefined) this.relayed?.up.entered(text, shown);
    else this.#network.tap.arrived(this, 'up', shown);
    this.#connection?.receive(frame);
  }

  #falsified(frame: Frame): Frame {
    const { falsify } = this.#network;
    if (typeof frame !== 'string' || !frame.includes('"type":"hello"')) return frame;
    const hello = falsify.get(this.machine)?.(frame);
    falsify.delete(this.machine);
    if (hello !== undefined) this.#network.tap.falsified(hello);
    return hello ?? frame;
  }

  /** Counts a frame towards the faults that the route has set for this connection. */
  #countFrame(): void {
    const { world } = this.#network;
    if (this.#framesToCut !== null && this.#framesToCut-- <= 0) {
      this.#framesToCut = null;
      world.count('fault: cut after a frame');
      this.cut('a fault');
    }
    if (this.#framesToHalfOpen !== null && this.#framesToHalfOpen-- <= 0) {
      this.#framesToHalfOpen = null;
      world.count('fault: half-open');
      const up = world.chance(0.7);
      const down = !up || world.chance(0.5);
      this.blackhole(up, down);
      world.note(`${this.name} is half-open: lost is ${[up && 'up', down && 'down'].filter(Boolean)}`);
    }
  }

  #serverClosed(): void {
    this.#network.links.delete(this);
    this.#isOver = true;
    this.#connection?.closed();
  }
}

/** Whether a gateway passes the frame on between the agent and the coordinator. */
const isOfSession = (frame: Frame): boolean =>
  typeof frame === 'string' && !/^\{"type":"(channel\.|collect)/.test(frame);

/** The message in a frame as the coordinator receives it; undefined for any other frame. */
function sessionMessageIn(frame: Frame): string | undefined {
  try {
    const message = typeof frame === 'string' ? decodeUp(frame) : undefined;
    return message && isOfSession(frame) ? encode(message) : undefined;
  } catch {
    return undefined;
  }
}

/** A hello as an agent of another checkout sends it. */
function foreign(frame: Frame): Frame {
  if (typeof frame !== 'string') return frame;
  const message = JSON.parse(frame) as Up;
  return message.type === 'hello' ? JSON.stringify({ ...message, hash: 'another' }) : frame;
}
