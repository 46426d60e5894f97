/** Matches texts against a regular expression in a worker, which ends if it takes too long. */

/** Far beyond what any useful expression takes for one request. */
const LIMIT_MS = 2_000;

export interface ExpressionRequest {
  query: string;
  texts: readonly string[];
  /** Whether the answer is if each text has a match, or where its matches are. */
  isTest: boolean;
}

export type Range = [start: number, end: number];

export class ExpressionWorker {
  readonly #query: string;
  readonly #worker = new Worker('/assets/log-expressions.js', { type: 'module' });
  /** Requests without an answer, in their order. */
  readonly #waiting: ((found: unknown) => void)[] = [];
  readonly #tooSlow: () => void;
  /** The limit does not count the time that the script takes to load. */
  #isReady = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** `query`: a valid expression. `tooSlow` is called once it has taken too long; no answer follows. */
  constructor(query: string, tooSlow: () => void) {
    this.#query = query;
    this.#tooSlow = tooSlow;
    this.#worker.addEventListener('message', ({ data }) => this.#take(data));
  }

  /** Whether each text has a match. */
  test(texts: readonly string[]): Promise<boolean[]> {
    return this.#send<boolean[]>(texts, true);
  }

  /** The matches in each text. */
  ranges(texts: readonly string[]): Promise<Range[][]> {
    return this.#send<Range[][]>(texts, false);
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#worker.terminate();
  }

  #send<T>(texts: readonly string[], isTest: boolean): Promise<T> {
    const { promise, resolve } = Promise.withResolvers<T>();
    this.#waiting.push((found) => resolve(found as T));
    this.#worker.postMessage({ query: this.#query, texts, isTest } satisfies ExpressionRequest);
    if (this.#waiting.length === 1) this.#watch();
    return promise;
  }

  #take(data: 'ready' | { found: unknown }): void {
    if (data === 'ready') this.#isReady = true;
    else this.#waiting.shift()?.(data.found);
    this.#watch();
  }

  #watch(): void {
    clearTimeout(this.#timer);
    if (!this.#isReady || this.#waiting.length === 0) return;
    this.#timer = setTimeout(() => {
      this.end();
      this.#tooSlow();
    }, LIMIT_MS);
  }
}
