/** What a session with the control plane requires of its socket and of the rest of the agent. */
import type { ServiceKey } from '../../shared/protocol/assignment.ts';
import type { Down } from '../../shared/protocol/down.ts';
import type { AgentRelease } from '../../shared/protocol/release.ts';
import type { Overlay } from '../../shared/protocol/swarm.ts';
import type { HostEngine, HostFacts } from '../../shared/protocol/up.ts';
import type { OpenTarget } from '../engine/streams/target.ts';
import type { Exchange } from '../host/clock-check.ts';
import type { Logger } from '../logger.ts';
import type { OutputStore } from '../logs/output-store.ts';
import type { Agent } from '../services/agent.ts';
import type { Lease } from '../services/lease.ts';
import type { Reporter } from '../services/reporter.ts';

export type Welcome = Extract<Down, { type: 'welcome' }>;

/** What a session requires of its socket. */
export interface SessionSocket {
  send(text: string): void;
  /** Resolves when the bytes have left this process, or never will. */
  sendBytes(bytes: Uint8Array): Promise<void>;
  close(code: number, reason: string): void;
}

export interface SessionOptions {
  agent: Agent;
  reporter: Reporter;
  output: OutputStore;
  deployment: string;
  host: HostFacts;
  engine: HostEngine;
  log: Logger;
  nowMs(): number;
  /** Receives the time of each contact, i.e. of each answered message. */
  lease: Pick<Lease, 'leaseMs' | 'hasExpired' | 'check' | 'now' | 'replace' | 'confirm' | 'setUnknown'>;
  /** Called with each answer that carries the time. */
  clock(exchange: Exchange): void;
  /**
   * Measures the usage for the next report. Called at the welcome, after each sign of life, and for a report
   * that is requested, which alone waits for it. Never rejects.
   */
  measure(): Promise<void>;
  /** The usage of a start as lines of text; undefined if there is none (P228). */
  usageOf(key: ServiceKey): string | undefined;
  /** Connects a stream. */
  openTarget: OpenTarget;
  /** Called at the welcome. */
  welcomed(welcome: Welcome): void;
  /** Begins an update of this agent. The session never waits for it. */
  update(release: AgentRelease): void;
  /** Begins to make an overlay network. The session never waits for it. */
  makeOverlay(overlay: Overlay): void;
}
