/**
 * Engine watcher: keeps the agent's view of the engine up to date. It subscribes to events before it inspects
 * everything, inspects everything again periodically and after failures, and starts over when the engine is
 * lost. Never changes anything.
 */
import type { Engine } from '../engine/engine.ts';
import { type Logger, messageOf } from '../logger.ts';

export interface EngineWatcherOptions {
  engine: Pick<Engine, 'watch'>;
  changed(containerId: string): void;
  refresh(): Promise<void>;
  /** The engine has ended or does not answer. The next `ready` means that it answers again. */
  lost(reason: string): void;
  /** Time between two refreshes. */
  refreshMs: number;
  /** Pause before a lost engine or a failed step is retried. */
  retryMs: number;
  log: Logger;
}

export class EngineWatcher {
  readonly #options: EngineWatcherOptions;
  #wake: (() => void) | undefined;
  /** The engine has not answered since `engine.lost` was logged. */
  #isLost = false;
  #closed = false;

  constructor(options: EngineWatcherOptions) {
    this.#options = options;
  }

  /** Calls `ready` after each refresh. Returns when closed. */
  async run(ready: () => void): Promise<void> {
    while (!this.#closed) {
      try {
        await this.#follow(ready);
      } catch (error) {
        const reason = messageOf(error);
        if (!this.#isLost) this.#options.log('engine.lost', { reason });
        this.#isLost = true;
        this.#options.lost(reason);
      }
      if (!this.#closed) await this.#sleep(this.#options.retryMs);
    }
  }

  /** Refreshes again after the retry pause. */
  refreshSoon(): void {
    setTimeout(() => this.#wake?.(), this.#options.retryMs).unref();
  }

  close(): void {
    this.#closed = true;
    this.#wake?.();
  }

  async #follow(ready: () => void): Promise<void> {
    const { engine, changed, refresh, refreshMs } = this.#options;
    const watch = await engine.watch(changed);
    let ended = false;
    const onEnd = () => {
      ended = true;
      this.#wake?.();
    };
    watch.ended.then(onEnd, onEnd);
    try {
      while (!this.#closed && !ended) {
        await refresh();
        this.#isLost = false;
        ready();
        if (!ended) await this.#sleep(refreshMs);
      }
    } finally {
      watch.close();
    }
    await watch.ended;
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        clearTimeout(timer);
        this.#wake = undefined;
        resolve();
      };
      const timer = setTimeout(wake, ms);
      this.#wake = wake;
      if (this.#closed) wake();
    });
  }
}
