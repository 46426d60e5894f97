/** Owns what an agent needs of the parts around it. */
import type { Engine } from '../engine/engine.ts';
import type { Logger } from '../logger.ts';
import type { OutputStore } from '../logs/output-store.ts';
import type { Reporter } from './reporter.ts';

export interface AgentOptions {
  engine: Engine;
  output: OutputStore;
  reporter: Reporter;
  log: Logger;
  /** What the host offers to services. */
  cores: number;
  /** In what way the host is low on disk, if it is: no image is pulled then. */
  lowDisk(): string | undefined;
  /** Services that the control plane does not know and that have containers here; told whenever it was looked. */
  leftAlone(services: readonly number[]): void;
  /** The engine failed at something that is to be tried again after the next refresh. */
  onEngineFailure(): void;
}
