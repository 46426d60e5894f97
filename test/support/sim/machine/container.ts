/** A simulated container: its identity, its state, its script and its output. */
import type { ContainerCpu, OutputRecord } from '../../../../agent/engine/engine.ts';
import type { Health } from '../../../../shared/protocol/health.ts';
import type { Inode } from '../world/disk.ts';

/** What a container does after its start. `afterMs` is the time until it ends by itself; null means never. */
export interface ContainerScript {
  afterMs: number | null;
  exitCode: number;
  outOfMemory: boolean;
  /** Error of a command that could not be run. */
  startError: string | undefined;
  /** Number of lines, written at equal intervals within `linesMs`. */
  lines: number;
  linesMs: number;
  /** Until this time no signal ends the container. */
  immortalUntilMs: number;
  /** Only of a container whose health is checked. */
  health?: HealthScript;
}

/** What checks of its health find at this time; undefined if it is not checked. */
export function healthOf(
  { script, startedAtMs }: Pick<SimContainer, 'script' | 'startedAtMs'>,
  nowMs: number,
): Health | undefined {
  if (!script.health) return undefined;
  const { healthyAfterMs, unhealthyAfterMs } = script.health;
  const ageMs = nowMs - startedAtMs;
  if (unhealthyAfterMs !== null && ageMs >= unhealthyAfterMs) return { state: 'unhealthy', detail: 'bad' };
  return ageMs >= healthyAfterMs
    ? { state: 'healthy', detail: 'good' }
    : { state: 'starting', detail: 'not yet' };
}

export interface HealthScript {
  healthyAfterMs: number;
  unhealthyAfterMs: number | null;
}

export interface SimContainer {
  readonly id: string;
  readonly name: string;
  /** Null for a container that does not belong to Berth. */
  readonly key: {
    execution: number;
    service: number;
    generation: number;
    idProof?: string | undefined;
  } | null;
  readonly script: ContainerScript;
  readonly cpu: ContainerCpu;
  state: 'created' | 'running' | 'exited';
  exitCode: number;
  outOfMemory: boolean;
  startedAtMs: number;
  finishedAtMs: number;
  /** The engine's own log file. */
  readonly output: Inode;
  readonly records: OutputRecord[];
}

/**
 * Line `at` of a start. Neighbouring lines differ in length, and the lines of every fifth service are long.
 */
export const lineOf = (key: string, at: number): string =>
  `${key}:${at}:${'x'.repeat(Number.parseInt(key, 10) % 5 === 0 ? 12_000 : (at * 7) % 40)}`;
