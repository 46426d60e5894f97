/**
 * Owns keeping the agent's picture of the engine true: subscribes to events before it looks at everything, looks at
 * everything again every so often and after trouble, and starts over when the engine was lost. Never changes anything.
 */
import type { Engine } from '../engine/engine.ts';
import { type Logger, messageOf } from '../logger.ts';

export interface EngineWatcherOptions {
  engine: Pick<Engine, 'watch'>;
  changed(containerId: string): void;
  refresh(): Promise<void>;
  /** The engine has ended or does not answer; it does again with the next `ready`. */
  lost(reason: string): void;
  /** Time between two looks at everything. */
  refreshMs: number;
  /** Wait before a lost engine, or a step that failed, is tried again. */
  retryMs: number;
  log: Logger;
}

export class EngineWatcher {
  readonly #options: EngineWatcherOptions;
  #wake: (() => void) | undefined;
  #closed = false;

  constructor(options: EngineWatcherOptions) {
    this.#options = options;
  }

  /** Returns when closed; calls `ready` each time everything has been seen. */
  async run(ready: () => void): Promise<void> {
    while (!this.#closed) {
      try {
        await this.#follow(ready);
      } catch (error) {
        const reason = messageOf(error);
        this.#options.log('engine.lost', { reason });
        this.#options.lost(reason);
      }
      if (!this.#closed) await this.#sleep(this.#options.retryMs);
    }
  }

  /** Looks at everything again soon. */
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
