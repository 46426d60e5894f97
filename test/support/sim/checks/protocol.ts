/**
 * Protocol check: only committed starts and stops are sent, only committed reports are acknowledged, no log
 * stream exceeds its credit, and each stream ends once.
 */
import { CHUNK_HEADER_BYTES, decodeChunk, LOG_WINDOW_BYTES } from '../../../../shared/protocol/codec.ts';
import type { Down } from '../../../../shared/protocol/down.ts';
import type { Observation, Up } from '../../../../shared/protocol/up.ts';
import type { Direction, Frame, Link, Tap } from '../world/network.ts';
import type { World } from '../world/time.ts';
import { isLive, type Ledger } from './ledger.ts';

interface LinkState {
  revision: number | null;
  /** Reports that were not acknowledged yet, by sequence. */
  reports: Map<number, Extract<Up, { type: 'report' }>>;
  streams: Map<number, { credit: number; ended: boolean }>;
}

export class ProtocolCheck implements Tap {
  readonly #world: World;
  readonly #ledger: Ledger;
  readonly #states = new WeakMap<Link, LinkState>();

  /** Failed starts, by `service.generation`. */
  readonly failed = new Set<string>();
  /** Starts that agents stopped because their lease expired, by `service.generation`. */
  readonly lapsed = new Set<string>();

  constructor(world: World, ledger: Ledger) {
    this.#world = world;
    this.#ledger = ledger;
  }

  sent(link: Link, direction: Direction, frame: Frame): void {
    const state = this.#stateOf(link);
    if (typeof frame !== 'string') this.#chunk(link, state, frame);
    else if (direction === 'up') this.#sentUp(link, state, JSON.parse(frame) as Up);
    else this.#sentDown(link, state, JSON.parse(frame) as Down);
  }

  arrived(link: Link, direction: Direction, frame: Frame): void {
    if (direction !== 'up' || typeof frame !== 'string') return;
    const message = JSON.parse(frame) as Up;
    if (message.type === 'report') this.#stateOf(link).reports.set(message.sequence, message);
  }

  #sentUp(link: Link, state: LinkState, message: Up): void {
    this.#world.count(`up: ${message.type}`);
    if (!isHeartbeat(message)) this.#world.note(`${link.name} > ${summary(message)}`);
    if (message.type === 'report') for (const one of message.observations) this.#observed(one);
    if (message.type === 'hello') for (const one of message.inventory) this.#observed(one);
    if (message.type !== 'logs.end') return;
    const stream = state.streams.get(message.stream);
    if (stream?.ended) this.#world.violate(`${link.name}: stream ${message.stream} ends twice`);
    if (stream) stream.ended = true;
  }

  #observed(one: Observation): void {
    const isLapsed = one.state === 'gone' && one.lapsed === true;
    this.#world.count(`observed: ${one.state}${isLapsed ? ' after its lease expired' : ''}`);
    if (one.state === 'failed') this.failed.add(`${one.service}.${one.generation}`);
    if (isLapsed) this.lapsed.add(`${one.service}.${one.generation}`);
  }

  #sentDown(link: Link, state: LinkState, message: Down): void {
    this.#world.count(`down: ${message.type}`);
    if (message.type !== 'ack' || hasContent(state.reports.get(message.sequence)))
      this.#world.note(`${link.name} < ${summary(message)}`);
    switch (message.type) {
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
      case 'logs.open':
        state.streams.set(message.stream, { credit: message.credit, ended: false });
        if (message.credit > LOG_WINDOW_BYTES)
          this.#world.violate(
            `${link.name}: a window of ${message.credit} bytes, at most ${LOG_WINDOW_BYTES} are allowed`,
          );
        return;
      case 'logs.credit': {
        const stream = state.streams.get(message.stream);
        if (stream) stream.credit += message.bytes;
        if (stream && stream.credit > LOG_WINDOW_BYTES)
          this.#world.violate(
            `${link.name}: a credit of ${stream.credit} bytes, at most ${LOG_WINDOW_BYTES} are allowed`,
          );
      }
    }
  }

  #chunk(link: Link, state: LinkState, frame: Uint8Array): void {
    this.#world.count('up: chunk');
    const { stream } = decodeChunk(frame);
    const known = state.streams.get(stream);
    if (!known) {
      this.#world.violate(`${link.name}: a chunk of an unknown stream`);
      return;
    }
    known.credit -= frame.byteLength - CHUNK_HEADER_BYTES;
    if (known.credit < 0) this.#world.violate(`${link.name}: ${-known.credit} bytes more than the credit`);
    if (known.ended) this.#world.violate(`${link.name}: a chunk after the end of stream ${stream}`);
  }

  #revision(link: Link, state: LinkState, revision: number): void {
    if (state.revision === null || revision !== state.revision + 1)
      this.#world.violate(`${link.name}: revision ${revision} after ${state.revision}`);
    state.revision = revision;
  }

  #committedStart(link: Link, { service, generation }: { service: number; generation: number }): void {
    const row = this.#ledger.services.get(service);
    // A later coordinator may already have advanced the service.
    const holds =
      row &&
      (Number(row.generation) > generation || (row.generation === generation && row.status !== 'inactive'));
    if (!holds && !this.#isStale(link))
      this.#world.violate(`${link.name}: ${service}.${generation} is sent before it is committed`);
  }

  #committedStop(link: Link, { service, generation }: { service: number; generation: number }): void {
    const row = this.#ledger.services.get(service);
    if (row?.generation === generation && isLive(row) && !this.#isStale(link))
      this.#world.violate(
        `${link.name}: the stop of ${service}.${generation} is sent before it is committed`,
      );
  }

  #acknowledged(link: Link, state: LinkState, sequence: number): void {
    const report = state.reports.get(sequence);
    if (!report) {
      this.#world.violate(`${link.name}: report ${sequence} is acknowledged but never arrived`);
      return;
    }
    state.reports.delete(sequence);
    for (const observation of report.observations)
      if (!this.#isCommitted(observation, link.hostId))
        this.#world.violate(
          `${link.name}: ${observation.state} of ${observation.service}.${observation.generation} is acknowledged but not committed`,
        );
    for (const service of report.forgotten) {
      const row = this.#ledger.services.get(service);
      const execution = row && this.#ledger.executions.get(Number(row.execution_id));
      if (
        row &&
        execution?.deleted === 1 &&
        row.host_id === link.hostId &&
        row.forgotten !== 1 &&
        row.status === 'inactive'
      )
        this.#world.count('forgotten too early');
    }
  }

  #isCommitted(observation: Observation, host: number): boolean {
    const row = this.#ledger.services.get(observation.service);
    if (
      !row ||
      row.generation !== observation.generation ||
      row.host_id !== host ||
      row.status === 'inactive'
    )
      return true;
    switch (observation.state) {
      case 'running':
        return row.status !== 'starting' || row.backend_status === 'dead';
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

  #isStale(link: Link): boolean {
    return !link.server.process.alive;
  }

  #stateOf(link: Link): LinkState {
    const known = this.#states.get(link);
    if (known) return known;
    const fresh: LinkState = { revision: null, reports: new Map(), streams: new Map() };
    this.#states.set(link, fresh);
    return fresh;
  }
}

const hasContent = (report: Extract<Up, { type: 'report' }> | undefined): boolean =>
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
