/** Owns what a simulated container is: its identity, its state, what it will do, and what it has written. */
import type { ContainerCpu, OutputRecord } from '../../../../agent/engine/engine.ts';
import type { Inode } from '../world/disk.ts';

/** How a container ends by itself, so long after its start; null: never. */
export interface ContainerScript {
  afterMs: number | null;
  exitCode: number;
  outOfMemory: boolean;
  /** The command could not be run at all. */
  startError: string | undefined;
  /** Lines it writes, evenly until its end or within `linesMs`. */
  lines: number;
  linesMs: number;
  /** No signal ends it before this time. */
  immortalUntilMs: number;
}

export interface SimContainer {
  readonly id: string;
  readonly name: string;
  /** Null: of somebody else, and none of an agent's business. */
  readonly key: { execution: number; service: number; generation: number } | null;
  readonly script: ContainerScript;
  readonly cores: ContainerCpu;
  state: 'created' | 'running' | 'exited';
  exitCode: number;
  outOfMemory: boolean;
  startedAtMs: number;
  finishedAtMs: number;
  /** The engine's own file. */
  readonly output: Inode;
  readonly records: OutputRecord[];
}

/** Line `at` of a key; its length differs from that of its neighbours, and of some services all are long. */
export const lineOf = (key: string, at: number): string =>
  `${key}:${at}:${'x'.repeat(Number.parseInt(key, 10) % 5 === 0 ? 12_000 : (at * 7) % 40)}`;
