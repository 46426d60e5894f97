/**
 * The agent's side of one session (PROTOCOL.md): hello, welcome, sync, then changes one revision at a time.
 * Reports go the other way. Never dials and never decides what runs.
 */
import type { Assignment } from '../../shared/protocol/assignment.ts';
import { type CloseReason, closeCodes } from '../../shared/protocol/close.ts';
import { decodeChunk, decodeDown, encode, ProtocolError } from '../../shared/protocol/codec.ts';
import type { Down } from '../../shared/protocol/down.ts';
import { PULSE } from '../../shared/protocol/pulse.ts';
import type { Up } from '../../shared/protocol/up.ts';
import { PROTOCOL_HASH, PROTOCOL_VERSION } from '../../shared/protocol/version.ts';
import { Channels } from '../channels/channels.ts';
import type { Moment } from '../services/lease.ts';
import type { SessionOptions, SessionSocket, Welcome } from './session-options.ts';

type Phase =
  | { name: 'greeting' }
  | { name: 'syncing'; assignments: Assignment[] }
  | { name: 'following'; revision: number }
  | { name: 'closed' };

/** Delay of a report that is not urgent, so that a later observation may replace it. */
const FLUSH_DELAY_MS = 200;

export class ControlPlaneSession {
  readonly #socket: SessionSocket;
  readonly #options: SessionOptions;
  readonly #channels: Channels;
  #phase: Phase = { name: 'greeting' };
  #signOfLife: NodeJS.Timeout | undefined;
  #deferredFlush: NodeJS.Timeout | undefined;
  #flushing = false;
  #spreadMs: number | undefined;
  /** The hello (0) or report whose answer will carry the time. */
  #timedRequest: { sequence: number; sentMs: number } | undefined;
  /** Sending times of the hello (0) and the reports without an answer. */
  #unanswered: { sequence: number; sent: Moment }[] = [];

  constructor(socket: SessionSocket, options: SessionOptions) {
    this.#socket = socket;
    this.#options = options;
    const { agent, output, deployment, host, engine, reporter } = options;
    this.#channels = new Channels({
      open: options.openTarget,
      output: {
        open: (key) => output.open(key),
        retention: output.retention,
        mayWrite: (key) => agent.mayWrite(key),
        usageOf: options.usageOf,
      },
      send: (message) => this.#send(message),
      sendBytes: (bytes) => socket.sendBytes(bytes),
    });
    reporter.reconnected();
    this.#unanswered.push({ sequence: 0, sent: options.lease.now() });
    this.#send({
      type: 'hello',
      version: PROTOCOL_VERSION,
      hash: PROTOCOL_HASH,
      deployment,
      host,
      engine,
      inventory: agent.inventory(),
      conditions: [...reporter.conditions],
      ...agent.seenIds(),
      ...(reporter.swarm === undefined ? {} : { swarm: reporter.swarm }),
      ...(options.lease.leaseMs === undefined ? {} : { leaseMs: options.lease.leaseMs }),
    });
    this.#timedRequest = { sequence: 0, sentMs: options.nowMs() };
  }

  /**
   * Period over which all agents return after they lose their connections (P72). Undefined before the
   * welcome.
   */
  get spreadMs(): number | undefined {
    return this.#spreadMs;
  }

  receive(frame: string | Uint8Array): void {
    // What was in transit when this side closed the connection: to a channel, bytes before it may be missing.
    if (frame === PULSE || this.#phase.name === 'closed') return;
    if (this.#hasLeaseExpired()) {
      this.#close('resync', 'the lease has expired');
      return;
    }
    try {
      if (typeof frame === 'string') this.#handle(decodeDown(frame));
      else if (!this.#channels.chunk(decodeChunk(frame)))
        this.#close('badMessage', 'a channel exceeds its credit');
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      this.#close('badMessage', error.message);
    }
  }

  /** The socket is closed. */
  closed(): void {
    this.#phase = { name: 'closed' };
    this.#options.reporter.onChange(undefined);
    clearInterval(this.#signOfLife);
    clearTimeout(this.#deferredFlush);
    this.#channels.closeAll();
  }

  /**
   * True if the lease has expired since the welcome. A message may then have been in transit since before the
   * expiry, and its service may run elsewhere (P80).
   */
  #hasLeaseExpired(): boolean {
    const { lease } = this.#options;
    lease.check();
    return lease.hasExpired && (this.#phase.name === 'syncing' || this.#phase.name === 'following');
  }

  #handle(message: Down): void {
    const { agent, reporter } = this.#options;
    switch (message.type) {
      case 'welcome':
        this.#welcome(message);
        break;
      case 'sync':
        this.#sync(message);
        break;
      case 'start':
        if (this.#follows(message.revision)) agent.start(message.assignment);
        break;
      case 'stop':
        if (this.#follows(message.revision)) agent.stop(message);
        break;
      case 'forget':
        agent.forget(message.services);
        break;
      case 'ack':
        for (const key of reporter.acknowledge(message.sequence)) agent.conclude(key);
        this.#forAnswered(message.sequence, (sent) => this.#options.lease.confirm(sent));
        this.#compareClocks(message.sequence, message.timeMs);
        if (message.coreShares) agent.cpuLimits.share(message.coreShares);
        break;
      case 'collect':
        this.#channels.collect(message.ms);
        break;
      case 'report.request':
        void this.#reportMeasured();
        break;
      case 'network.make':
        this.#options.makeOverlay(message);
        break;
      case 'update':
        this.#options.update(message);
        break;
      default:
        this.#channels.receive(message);
    }
  }

  #welcome(welcome: Welcome): void {
    if (this.#phase.name !== 'greeting') {
      this.#close('badMessage', 'a second welcome');
      return;
    }
    const { session, timeMs, leaseMs, spreadMs = 0, pending } = welcome;
    const { log, reporter } = this.#options;
    this.#spreadMs = spreadMs;
    log('session.welcome', { session });
    this.#options.welcomed(welcome);
    if (pending !== undefined) log('session.offer-pending', { reason: pendingText(pending) });
    this.#compareClocks(0, timeMs);
    this.#phase = { name: 'syncing', assignments: [] };
    this.#forAnswered(0, (sent) => this.#options.lease.replace(leaseMs, sent));
    this.#giveSignsOfLife(welcome);
    reporter.onChange((urgent) => this.#changed(urgent));
    this.#flush();
  }

  /** Pulses, if the control plane wants any; otherwise reports with the usage. */
  #giveSignsOfLife({ reportPeriodMs, pulseMs }: Pick<Welcome, 'reportPeriodMs' | 'pulseMs'>): void {
    const { reporter, measure } = this.#options;
    const report = () => {
      this.#send(reporter.everything());
      void measure();
    };
    const pulse = () => this.#socket.send(PULSE);
    this.#signOfLife =
      pulseMs === undefined ? setInterval(report, reportPeriodMs) : setInterval(pulse, pulseMs);
    void measure();
  }

  async #reportMeasured(): Promise<void> {
    await this.#options.measure();
    this.#send(this.#options.reporter.everything());
  }

  #sync({ revision, assignments, more, unknown }: Extract<Down, { type: 'sync' }>): void {
    if (this.#phase.name !== 'syncing') {
      this.#close('resync', 'an unexpected sync');
      return;
    }
    this.#phase.assignments.push(...assignments);
    if (more) return;
    const { agent, log, lease } = this.#options;
    log('session.synced', { revision, assignments: this.#phase.assignments.length });
    lease.setUnknown(unknown ?? []);
    agent.sync(this.#phase.assignments, unknown);
    this.#phase = { name: 'following', revision };
  }

  /** True if the change carries the next revision. After a gap only a new hello helps (P4). */
  #follows(revision: number): boolean {
    const { log } = this.#options;
    if (this.#phase.name === 'following' && revision === this.#phase.revision + 1) {
      this.#phase.revision = revision;
      return true;
    }
    if (this.#phase.name !== 'closed') {
      log('session.revision-missing', { revision });
      this.#close('resync', 'a revision is missing');
    }
    return false;
  }

  #changed(urgent: boolean): void {
    if (!urgent) {
      this.#deferredFlush ??= setTimeout(() => this.#flush(), FLUSH_DELAY_MS);
    } else if (!this.#flushing) {
      // Changes in the same turn share one report.
      this.#flushing = true;
      queueMicrotask(() => this.#flush());
    }
  }

  #flush(): void {
    this.#flushing = false;
    clearTimeout(this.#deferredFlush);
    this.#deferredFlush = undefined;
    if (this.#phase.name === 'closed') return;
    const report = this.#options.reporter.changes();
    if (report) this.#send(report);
  }

  /** Compares the clocks after an answer that carries the control plane's time. */
  #compareClocks(sequence: number, theirMs: number | undefined): void {
    if (!this.#timedRequest || sequence < this.#timedRequest.sequence) return;
    const { clock, nowMs } = this.#options;
    if (theirMs !== undefined) clock({ sentMs: this.#timedRequest.sentMs, receivedMs: nowMs(), theirMs });
    this.#timedRequest = undefined;
  }

  /** The time of contact is that of the message, not of its answer. */
  #forAnswered(sequence: number, apply: (sent: Moment) => void): void {
    const answered = this.#unanswered.filter((one) => one.sequence <= sequence).at(-1);
    this.#unanswered = this.#unanswered.filter((one) => one.sequence > sequence);
    if (answered) apply(answered.sent);
  }

  #send(message: Up): void {
    if (this.#phase.name === 'closed') return;
    if (message.type === 'report')
      this.#unanswered.push({ sequence: message.sequence, sent: this.#options.lease.now() });
    this.#socket.send(encode(message));
    if (message.type === 'report')
      this.#timedRequest ??= { sequence: message.sequence, sentMs: this.#options.nowMs() };
  }

  #close(reason: CloseReason, message: string): void {
    this.#phase = { name: 'closed' };
    this.#socket.close(closeCodes[reason].code, message);
  }
}

const pendingText = (offer: string): string =>
  `this host offers more than was agreed (${offer}): an administrator must accept it on the page of the host, or by POST host/<id> with "accept"`;
