/**
 * Reads the log stream of an execution, and reconnects from the position of each service when the stream
 * breaks. Never touches the page.
 */
import {
  decodeFrame,
  FrameSplitter,
  LOG_START,
  type LogNote,
  type LogPosition,
  noteOf,
} from '../../../../shared/streams/log-frames.ts';

/** Three heartbeats (http/api/merged-logs.ts). */
const SILENCE_MS = 45_000;
const FIRST_RETRY_MS = 500;
const LAST_RETRY_MS = 15_000;

export interface FeedEvents {
  output(service: number, generation: number, bytes: Uint8Array): void;
  note(service: number, note: LogNote): void;
  connected(): void;
  lost(): void;
  /** The execution does not exist, or the user may not see it. */
  gone(): void;
  /** The session has ended. */
  loggedOut(): void;
  /** Resolves when the page can take more output; undefined if it can already. */
  space(): Promise<void> | undefined;
}

export class LogFeed {
  readonly #url: string;
  readonly #events: FeedEvents;
  /** Positions of the services whose logs have not ended. */
  readonly #positions: Map<number, LogPosition>;
  #hasProblem = false;
  #running = false;
  #stop = new AbortController();
  #retryMs = FIRST_RETRY_MS;

  constructor(url: string, services: readonly number[], events: FeedEvents) {
    this.#url = url;
    this.#events = events;
    this.#positions = new Map(services.map((id) => [id, LOG_START]));
  }

  /** Reads until all logs have ended, or until it is stopped. */
  async start(): Promise<void> {
    if (this.#running) return;
    this.#running = true;
    this.#stop = new AbortController();
    const { signal } = this.#stop;
    while (!signal.aborted && this.#positions.size > 0) {
      const wasRead = await this.#read(signal).catch(() => false);
      if (signal.aborted || this.#positions.size === 0) break;
      if (!wasRead || this.#hasProblem) {
        if (!wasRead) this.#events.lost();
        await pause(this.#retryMs * (0.75 + Math.random() / 2), signal);
        this.#retryMs = Math.min(LAST_RETRY_MS, this.#retryMs * 2);
      }
    }
    this.#running = false;
  }

  /** A later `start` continues without a gap. */
  async stop(): Promise<void> {
    this.#stop.abort();
    while (this.#running) await pause(10);
  }

  /** Resolves to true if the stream ended by itself. */
  async #read(stopped: AbortSignal): Promise<boolean> {
    const silence = new Silence();
    try {
      const from = [...this.#positions].map(([id, at]) => `${id}.${at.generation}.${at.offset}`);
      const response = await fetch(`${this.#url}?from=${from.join(',')}`, {
        signal: AbortSignal.any([stopped, silence.signal]),
        cache: 'no-store',
      });
      if (response.redirected) {
        this.#positions.clear();
        this.#events.loggedOut();
        return true;
      }
      if (response.status === 404 || response.status === 403) {
        this.#positions.clear();
        this.#events.gone();
        return true;
      }
      if (!response.ok || !response.body) return false;
      this.#hasProblem = false;
      this.#events.connected();
      await this.#take(response.body.getReader(), silence, stopped);
      return true;
    } finally {
      silence.end();
    }
  }

  async #take(
    reader: ReadableStreamDefaultReader<Uint8Array>,
    silence: Silence,
    stopped: AbortSignal,
  ): Promise<void> {
    const splitter = new FrameSplitter();
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      for (const frame of splitter.push(part.value)) this.#frame(frame);
      silence.end();
      const space = this.#events.space();
      if (space) await Promise.race([space, untilAborted(stopped)]);
      silence.begin();
    }
  }

  #frame(bytes: Uint8Array): void {
    const frame = decodeFrame(bytes);
    const { service, position, payload } = frame;
    if (!this.#positions.has(service)) return;
    const note = noteOf(frame);
    if (!note) {
      this.#positions.set(service, position);
      this.#retryMs = FIRST_RETRY_MS;
      this.#events.output(service, position.generation, payload);
      return;
    }
    if ('ended' in note) this.#positions.delete(service);
    if ('trouble' in note) this.#hasProblem = true;
    // Skips output that no longer exists, which the host has reported once.
    if ('missing' in note) this.#positions.set(service, { generation: note.missing + 1, offset: 0 });
    this.#events.note(service, note);
  }
}

/**
 * Aborts a connection that is silent for longer than the heartbeats allow: half-open connections never end by
 * themselves.
 */
class Silence {
  readonly #controller = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  constructor() {
    this.begin();
  }

  begin(): void {
    this.#timer = setTimeout(() => this.#controller.abort(), SILENCE_MS);
  }

  end(): void {
    clearTimeout(this.#timer);
  }
}

const untilAborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });

const pause = (ms: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal?.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
