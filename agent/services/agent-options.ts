/** What an agent requires of the parts around it. */
import type { Engine } from '../engine/engine.ts';
import type { SecretSource } from '../engine/folders/start-secrets.ts';
import type { FetchCredentials } from '../engine/pulls/pull-credentials.ts';
import type { Logger } from '../logger.ts';
import type { OutputStore } from '../logs/output-store.ts';
import type { Reporter } from './reporter.ts';

export interface AgentOptions extends SecretSource {
  engine: Engine;
  output: OutputStore;
  reporter: Reporter;
  fetchCredentials: FetchCredentials;
  log: Logger;
  /** Cores that the host offers to services. */
  cores: number;
  /** Why the host counts as low on disk; then no image is pulled. Undefined if it is not. */
  lowDisk(): string | undefined;
  /**
   * Called after each look at all containers, with the services that the control plane does not know and that
   * have containers here.
   */
  leftAlone(services: readonly number[]): void;
  /** Called with all services of which the engine refuses to stop or remove a container, at each change. */
  stuck?(services: readonly { service: number; reason: string }[]): void;
  /** A stop or a removal that takes longer is one that hangs. Default: 45 s. */
  hangsMs?: number;
  /** The engine failed at a step that will be retried after the next refresh. */
  onEngineFailure(): void;
}
