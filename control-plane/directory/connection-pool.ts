/** Connections to the directory that are kept for the next verification. Its caller bounds those in use. */
import type { Connection } from './connection.ts';

/** Directories and firewalls close idle connections after minutes. */
const IDLE_MS = 60_000;

interface Idle {
  connection: Connection;
  timer: NodeJS.Timeout;
}

export class ConnectionPool {
  readonly #max: number;
  #idle: Idle[] = [];

  constructor(max: number) {
    this.#max = max;
  }

  /** The one that was used last; undefined if none is left. */
  take(): Connection | undefined {
    const last = this.#idle.pop();
    if (!last) return undefined;
    clearTimeout(last.timer);
    return last.connection.isOpen ? last.connection : this.take();
  }

  give(connection: Connection): void {
    this.#idle = this.#idle.filter((one) => one.connection.isOpen);
    if (!connection.isOpen) return;
    if (this.#idle.length >= this.#max) {
      connection.close();
      return;
    }
    const timer = setTimeout(() => connection.close(), IDLE_MS);
    timer.unref();
    this.#idle.push({ connection, timer });
  }

  close(): void {
    for (const { connection } of this.#idle) connection.close();
  }
}
