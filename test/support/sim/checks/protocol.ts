/**
 * Protocol check: only committed starts and stops are sent, only committed reports are acknowledged, no
 * channel exceeds its credit, and each direction ends once.
 */

import type { Row } from '../../../../control-plane/store/db/db.ts';
import { keyOf, type ServiceKey } from '../../../../shared/protocol/assignment.ts';
import { decodeChunk, decodeUp } from '../../../../shared/protocol/codec.ts';
import type { Down } from '../../../../shared/protocol/down.ts';
import type { Observation, Report, Up } from '../../../../shared/protocol/up.ts';
import { MAX_WINDOW_BYTES } from '../../../../shared/streams/targets.ts';
import type { Direction, Frame, Link, Tap } from '../world/network.ts';
import type { Process, World } from '../world/time.ts';
import { Check } from './check.ts';
import type { HostContactCheck } from './hosts/host-contact.ts';
import { LeaseCheck } from './hosts/leases.ts';
import { isLive, type Ledger } from './ledger.ts';
import { assertAuthorised, isLapsed, type ReportedStarts } from './reported-starts.ts';
import type { StreamCheck } from './streams.ts';

interface LinkState {
  revision: number | null;
  /** Reports that were not acknowledged yet, in the order of their arrival. */
  reports: Report[];
  channels: Map<number, ChannelState>;
  /** Keys in the inventory of its hello. */
  listed: Set<string>;
}

/** What may still be sent, by direction, and whether the agent has ended its own. */
interface ChannelState {
  up: number;
  down: number;
  hasEnded: boolean;
}

export interface ProtocolCheckOptions {
  world: World;
  ledger: Ledger;
  starts: ReportedStarts;
  contact: HostContactCheck;
  /** True if an engine that works, and that one agent uses alone, has a container of the key. */
  hasContainer(machine: string, key: ServiceKey): boolean;
  /** Undefined in worlds without streams. */
  streams(): StreamCheck | undefined;
}

export class ProtocolCheck extends Check implements Tap {
  readonly #states = new WeakMap<Link, LinkState>();
  /** Keys whose start each agent process has reported as failed. */
  readonly #failedIn = new WeakMap<Process, Set<string>>();
  readonly #leases: LeaseCheck;
  readonly #options: ProtocolCheckOptions;

  constructor(options: ProtocolCheckOptions) {
    super(options.world, options.ledger);
    this.#options = options;
    this.#leases = new LeaseCheck(options.world, options.ledger);
  }

  sent(link: Link, direction: Direction, frame: Frame): void {
    const state = this.#stateOf(link);
    if (typeof frame !== 'string') this.#chunk(link, state, direction, frame);
    else if (direction === 'up') this.#sentUp(link, state, JSON.parse(frame) as Up);
    else this.#sentDown(link, state, JSON.parse(frame) as Down);
  }

  arrived(link: Link, direction: Direction, frame: Frame): void {
    if (direction !== 'up' || typeof frame !== 'string') return;
    // A report without sense confirms the lease, too.
    if (frame.startsWith('{"type":"report"')) this.#leases.reported(link);
    const message = validMessage(frame);
    if (message?.type === 'hello') {
      this.#leases.greeted(link, message.leaseMs !== undefined);
      this.#options.starts.greeted(link.hostId, message.inventory, this.ledger.servicesAt(link.hostId));
      if (message.leaseMs === undefined) this.#options.starts.leasesUnknown(link.hostId);
      this.#stateOf(link).listed = new Set(message.inventory.map(keyOf));
    }
    if (message?.type !== 'report') return;
    this.#stateOf(link).reports.push(message);
    this.#options.contact.arrived(link, message);
    this.#options.starts.arrived(link.hostId, message.observations);
  }

  pulsed(link: Link): void {
    this.#options.contact.pulsed(link);
  }

  falsified(hello: string): void {
    const message = validMessage(hello);
    if (message?.type === 'hello') this.#options.starts.listed(message.inventory);
  }

  /** Checks a committed row of a host. */
  hostChanged(id: number, leaseMs: unknown): void {
    this.#leases.hostChanged(id, leaseMs);
  }

  #sentUp(link: Link, state: LinkState, message: Up): void {
    this.world.count(`up: ${message.type}`);
    if (!isHeartbeat(message)) this.world.note(`${link.name} > ${summary(message)}`);
    if (message.type === 'report') for (const one of message.observations) this.#reported(link, one);
    if (message.type === 'hello') for (const one of message.inventory) this.#observed(one);
    const channel = 'channel' in message ? state.channels.get(message.channel) : undefined;
    if (!channel) return;
    if (message.type === 'channel.opened') channel.down = message.credit ?? 0;
    if (message.type === 'channel.credit') this.#granted(link, channel, 'down', message.bytes);
    if (message.type !== 'channel.end') return;
    if (channel.hasEnded) this.violate(`${link.name}: channel ${message.channel} ends twice`);
    channel.hasEnded = true;
  }

  /** A failed start is final within a process: the agent must not begin it again (P5). */
  #reported(link: Link, one: Observation): void {
    this.#observed(one);
    if (one.state === 'gone' && this.#options.hasContainer(link.machine, one))
      this.violate(`${link.name}: ${keyOf(one)} is reported as gone, and has a container`);
    const key = `${one.service}.${one.generation}`;
    const failed = this.#failedIn.get(link.process) ?? new Set();
    if (one.state === 'failed') this.#failedIn.set(link.process, failed.add(key));
    else if (one.state !== 'gone' && !isStuck(one) && failed.has(key))
      this.violate(`${link.name}: ${key} is ${one.state} after the report that its start had failed`);
  }

  #observed(one: Observation): void {
    this.world.count(`observed: ${one.state}${isLapsed(one) ? ' after its lease expired' : ''}`);
    this.#options.starts.sent(one);
  }

  #sentDown(link: Link, state: LinkState, message: Down): void {
    this.world.count(`down: ${message.type}`);
    if (message.type !== 'ack' || hasContent(reportOf(state, message.sequence)))
      this.world.note(`${link.name} < ${summary(message)}`);
    switch (message.type) {
      case 'welcome':
        this.#leases.welcomed(link, message.leaseMs);
        this.#options.contact.welcomed(link);
        return;
      case 'sync':
        state.revision = message.revision;
        for (const one of message.assignments) this.#committedStart(link, one);
        return;
      case 'start':
        this.#revision(link, state, message.revision);
        this.#committedStart(link, message.assignment);
        return;
      case 'stop':
        this.#revision(link, state, message.revision);
        this.#committedStop(link, message);
        return;
      case 'ack':
        this.#acknowledged(link, state, message.sequence);
        return;
      case 'channel.open': {
        const channel = { up: 0, down: 0, hasEnded: false };
        state.channels.set(message.channel, channel);
        this.#granted(link, channel, 'up', message.credit);
        this.#options.streams()?.carried(link, message.target);
        return;
      }
      case 'channel.credit': {
        const channel = state.channels.get(message.channel);
        if (channel) this.#granted(link, channel, 'up', message.bytes);
      }
    }
  }

  #granted(link: Link, channel: ChannelState, direction: Direction, bytes: number): void {
    channel[direction] += bytes;
    if (channel[direction] > MAX_WINDOW_BYTES)
      this.violate(
        `${link.name}: a credit of ${channel[direction]} bytes, at most ${MAX_WINDOW_BYTES} are allowed`,
      );
  }

  #chunk(link: Link, state: LinkState, direction: Direction, frame: Uint8Array): void {
    this.world.count(`${direction}: chunk`);
    const { channel, payload } = decodeChunk(frame);
    const known = state.channels.get(channel);
    if (!known) {
      this.violate(`${link.name}: a chunk of an unknown channel`);
      return;
    }
    known[direction] -= payload.length;
    if (known[direction] < 0)
      this.violate(`${link.name}: ${-known[direction]} bytes ${direction} beyond the credit`);
    if (direction === 'up' && known.hasEnded)
      this.violate(`${link.name}: a chunk after the end of channel ${channel}`);
  }

  #revision(link: Link, state: LinkState, revision: number): void {
    if (state.revision === null || revision !== state.revision + 1)
      this.violate(`${link.name}: revision ${revision} after ${state.revision}`);
    state.revision = revision;
  }

  #committedStart(link: Link, { service, generation }: ServiceKey): void {
    const row = this.ledger.services.get(service);
    // A later coordinator may already have advanced the service.
    const holds =
      row &&
      (Number(row.generation) > generation ||
        (row.generation === generation && (isLive(row) || (link.hasRival && row.status !== 'inactive'))));
    if (!holds && !this.#isStale(link))
      this.violate(`${link.name}: ${service}.${generation} is sent before it is committed`);
  }

  #committedStop(link: Link, { service, generation }: ServiceKey): void {
    const row = this.ledger.services.get(service);
    if (row?.generation === generation && isLive(row) && !this.#isStale(link))
      this.violate(`${link.name}: the stop of ${service}.${generation} is sent before it is committed`);
  }

  /**
   * An acknowledgement is for the last report of a turn, and covers all that arrived before it (P7). The
   * sequences of a hostile agent repeat and descend, so a later turn may acknowledge a lower sequence.
   */
  #acknowledged(link: Link, state: LinkState, sequence: number): void {
    const at = state.reports.findIndex((one) => one.sequence === sequence);
    if (at < 0) this.violate(`${link.name}: report ${sequence} is acknowledged but never arrived`);
    this.#leases.acknowledged(link);
    for (const report of state.reports.splice(0, at + 1)) this.#reportAcknowledged(link, state, report);
  }

  #reportAcknowledged(link: Link, state: LinkState, report: Report): void {
    this.#options.contact.acknowledged(link, report);
    assertAuthorised(this.world, this.ledger, link, state.listed, report);
    for (const observation of report.observations)
      if (!this.#isCommitted(observation, link.hostId))
        this.violate(
          `${link.name}: ${observation.state} of ${observation.service}.${observation.generation} is acknowledged but not committed`,
        );
    for (const service of report.forgotten) {
      const row = this.ledger.services.get(service);
      if (row?.host_id !== link.hostId || row.forgotten === 1 || row.status !== 'inactive') continue;
      if (this.ledger.executions.get(Number(row.execution_id))?.deleted === 1)
        this.world.count('forgotten too early');
    }
  }

  #isCommitted(observation: Observation, host: number): boolean {
    const row = this.ledger.services.get(observation.service);
    const isCurrent = row?.generation === observation.generation && row.host_id === host;
    if (!isCurrent || row.status === 'inactive') return true;
    switch (observation.state) {
      case 'running':
        return (
          row.status !== 'starting' || row.backend_status === 'dead' || this.#waitsForHealth(row, observation)
        );
      case 'exited':
        return row.exit !== null || row.status === 'terminating';
      case 'failed':
        return row.failure !== null || row.exit !== null || row.status === 'terminating';
      case 'gone':
        return false;
      default:
        return true;
    }
  }

  /** A service that is checked may stay as it is until it is healthy. */
  #waitsForHealth(row: Row, { health }: Extract<Observation, { state: 'running' }>): boolean {
    return this.ledger.demandOf(row).isChecked && health?.state !== 'healthy';
  }

  #isStale(link: Link): boolean {
    return !link.server.process.alive;
  }

  #stateOf(link: Link): LinkState {
    const fresh = { revision: null, reports: [], channels: new Map(), listed: new Set<string>() };
    const state = this.#states.get(link) ?? fresh;
    this.#states.set(link, state);
    return state;
  }
}

/** Undefined for a message without sense, as a hostile agent sends it. */
function validMessage(frame: string): Up | undefined {
  try {
    return decodeUp(frame);
  } catch {
    return undefined;
  }
}

const reportOf = ({ reports }: LinkState, sequence: number) =>
  reports.find((one) => one.sequence === sequence);

const hasContent = (report: Report | undefined): boolean =>
  !report || report.observations.length + report.forgotten.length > 0;

const isHeartbeat = (message: Up): boolean => message.type === 'report' && !hasContent(message);

function summary(message: Up | Down): string {
  switch (message.type) {
    case 'hello':
      return `hello ${message.version} ${message.inventory.map(observationText).join(' ')}`;
    case 'report':
      return `report ${message.sequence} ${message.observations.map(observationText).join(' ')} ${message.forgotten.map((id) => `forgot ${id}`).join(' ')}`;
    case 'sync':
      return `sync ${message.revision} ${message.assignments.map(({ service, generation }) => `${service}.${generation}`).join(' ')}`;
    case 'start':
      return `start ${message.revision} ${message.assignment.service}.${message.assignment.generation}`;
    default:
      return JSON.stringify(message);
  }
}

const observationText = ({ service, generation, state }: Observation) => `${service}.${generation}:${state}`;

/** The engine refuses to stop or remove what a start has left, or does not answer (P315). */
const isStuck = (one: Observation): boolean =>
  one.state === 'preparing' && /^the engine (refuses|was requested) to /.test(one.detail);
