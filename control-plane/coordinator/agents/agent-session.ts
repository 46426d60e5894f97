/**
 * The session of one connected agent: the host that the agent has proved to be, the revision, and what was
 * sent. The session checks the order of messages; the coordinator decides what they mean.
 */
import type { Assignment, IdRange, ServiceKey } from '../../../shared/protocol/assignment.ts';
import { MAX_FORGOTTEN, MAX_SHARES } from '../../../shared/protocol/bounds.ts';
import type { CloseReason } from '../../../shared/protocol/close.ts';
import { encode } from '../../../shared/protocol/codec.ts';
import type { Down } from '../../../shared/protocol/down.ts';
import type { AgentRelease } from '../../../shared/protocol/release.ts';
import type { Overlay } from '../../../shared/protocol/swarm.ts';
import type { Hello, Up } from '../../../shared/protocol/up.ts';
import { PROTOCOL_VERSION } from '../../../shared/protocol/version.ts';
import type { CoreShare } from '../../core/state/core-shares.ts';
import { closeArguments, type SessionMessage } from '../connections/agent-connection.ts';
import type { SessionPeer } from '../connections/session-peer.ts';
import type { SessionState } from '../sleep/saved-state.ts';

/** Receives the events of a session. `bye` is called exactly once. */
export interface SessionEvents {
  hello(session: AgentSession, hello: Hello): void;
  report(session: AgentSession, report: Extract<Up, { type: 'report' }>): void;
  bye(session: AgentSession): void;
}

/** What an acknowledgement can hold. Beyond it, services have the share of their reservation (P150). */
const boundedShares = (shares: readonly CoreShare[]): CoreShare[] =>
  shares
    .slice(0, MAX_SHARES)
    .map(({ cores, executions }) => ({ cores, executions: executions.slice(0, MAX_SHARES) }));

export type Welcome = Omit<Extract<Down, { type: 'welcome' }>, 'type' | 'version'>;

/** Where a session comes from. */
export interface SessionOrigin {
  /** The state of a session that joined before its coordinator slept. */
  state?: SessionState;
  /** The address of the agent, as far as it is known. */
  address?: string | undefined;
}

export class AgentSession {
  /** The host whose key the agent has proved to hold. */
  readonly hostId: number;
  /** The address of the agent, as far as it is known. */
  readonly address: string | undefined;
  /** A later connection has a greater number. */
  number = 0;
  /** The lease that the welcome grants; null: no lease. */
  leaseMs: number | null = null;
  /** True if the agent sends pulses, and its gateway tells of its silence (P180). */
  isWatched = false;
  /** At the end: how long the agent had been silent, if its gateway has measured that. */
  silentMs: number | undefined;
  /** True once its hello is committed. */
  isJoined = false;
  /** Keys of the services in the inventory of its hello. */
  listed: ReadonlySet<string> = new Set();
  /** The agent's end. */
  readonly peer: SessionPeer;
  readonly #events: SessionEvents;
  /** The core shares that were sent last, as text; undefined before the first acknowledgement. */
  #coreShares: string | undefined;
  #revision = 0;
  #receivedHello = false;
  #closed = false;

  constructor(
    peer: SessionPeer,
    hostId: number,
    events: SessionEvents,
    { state, address }: SessionOrigin = {},
  ) {
    this.peer = peer;
    this.address = address;
    this.hostId = hostId;
    this.#events = events;
    if (!state) return;
    this.isJoined = true;
    this.isWatched = true;
    this.listed = new Set(state.listed);
    this.#receivedHello = true;
    this.#revision = state.revision;
    this.#coreShares = state.coreShares;
  }

  /** What a coordinator that sleeps keeps of it. */
  get state(): SessionState {
    return {
      revision: this.#revision,
      coreShares: this.#coreShares,
      listed: [...this.listed],
      address: this.address,
    };
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  /** Receives the agent's next message. */
  receive(message: SessionMessage): void {
    if (this.#closed) return;
    if (message.type === 'report') {
      if (this.isJoined) this.#events.report(this, message);
      else this.close('badMessage', 'report before the hello was accepted');
    } else if (this.#receivedHello) this.close('badMessage', 'second hello on one connection');
    else {
      this.#receivedHello = true;
      this.#events.hello(this, message);
    }
  }

  /** The connection has closed, from either side, after `silentMs` without a sign of life. */
  closed(silentMs?: number): void {
    if (this.#closed) return;
    this.#closed = true;
    this.silentMs = silentMs;
    this.#events.bye(this);
  }

  close(reason: CloseReason, detail: string = reason): void {
    if (this.#closed) return;
    this.peer.close(...closeArguments(reason, detail));
    this.closed();
  }

  /** Sends the welcome, then every assignment of the host (P3). */
  welcome(welcome: Welcome, assignments: Iterable<Assignment>, unknown: readonly IdRange[]): void {
    this.#send({ type: 'welcome', version: PROTOCOL_VERSION, ...welcome });
    this.#sync(assignments, unknown);
  }

  #sync(assignments: Iterable<Assignment>, unknown: readonly IdRange[]): void {
    this.#revision += 1;
    for (const part of syncParts(assignments)) {
      const rest = part.more || unknown.length === 0 ? {} : { unknown: [...unknown] };
      this.#send({ type: 'sync', revision: this.#revision, ...part, ...rest });
    }
  }

  start(assignment: Assignment): void {
    this.#send({ type: 'start', revision: ++this.#revision, assignment });
  }

  stop({ service, generation }: ServiceKey): void {
    this.#send({ type: 'stop', revision: ++this.#revision, service, generation });
  }

  /** Requests a report with the present usage. Only for agents with pulses. */
  requestReport(): void {
    this.#send({ type: 'report.request' });
  }

  forget(services: number[]): void {
    for (let from = 0; from < services.length; from += MAX_FORGOTTEN)
      this.#send({ type: 'forget', services: services.slice(from, from + MAX_FORGOTTEN) });
  }

  /** Requests an overlay network of the swarm that the host's engine manages. */
  makeOverlay({ isolation, of }: Overlay): void {
    this.#send({ type: 'network.make', isolation, of });
  }

  /** Requests that the agent updates itself. */
  update({ version, sha256, signature }: AgentRelease): void {
    this.#send({ type: 'update', version, sha256, signature });
  }

  /** The core shares are sent if they are others than before. */
  acknowledge(sequence: number, timeMs: number, shares: readonly CoreShare[]): void {
    const text = JSON.stringify(shares);
    const coreShares = text === this.#coreShares ? undefined : boundedShares(shares);
    this.#coreShares = text;
    this.#send({ type: 'ack', sequence, timeMs, ...(coreShares && { coreShares }) });
  }

  #send(message: Down): void {
    if (!this.#closed) this.peer.send(encode(message));
  }
}

/** Assignments in one part; keeps usual frames far below the message limits of every runtime. */
const MAX_PART = 100;
/** Text in one part, in UTF-16 units. A single assignment may have more, and then has its own part. */
const MAX_PART_LENGTH = 2 ** 20;

/** Some of the assignments of a sync; `more`: another part follows. */
interface SyncPart {
  assignments: Assignment[];
  more: boolean;
}

/**
 * Divides the assignments of a host into the parts of a sync, messages of limited size (P138). There is at
 * least one part, which is empty for a host without assignments. Takes the assignments as they are needed:
 * all of them together may be large.
 */
export function* syncParts(assignments: Iterable<Assignment>): Generator<SyncPart> {
  let part: Assignment[] = [];
  let length = 0;
  for (const assignment of assignments) {
    const added = textLength(assignment);
    if (part.length === MAX_PART || (part.length > 0 && length + added > MAX_PART_LENGTH)) {
      yield { assignments: part, more: true };
      part = [];
      length = 0;
    }
    part.push(assignment);
    length += added;
  }
  yield { assignments: part, more: false };
}

/** Without the names, which are short. */
function textLength({ image, command, environment, workDir, network, volumes }: Assignment): number {
  let length = image.length + (workDir?.length ?? 0) + (network?.length ?? 0);
  for (const word of command ?? []) length += word.length;
  for (const [name, value] of environment) length += name.length + value.length;
  for (const { name, path } of volumes) length += name.length + path.length;
  return length;
}
