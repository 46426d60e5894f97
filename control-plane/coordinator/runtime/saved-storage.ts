/**
 * What the coordinator's object keeps in its own storage: what it resumes from after a sleep (C232), and the
 * gateways that have had connections (P172).
 */
import type { AwakeTotals } from '../../core/views/awake-totals.ts';
import type { SavedState } from '../sleep/saved-state.ts';

/** The methods of the object's storage that are used. */
export interface SavedStorageMethods {
  list(): Promise<Map<string, unknown>>;
  put(entries: Record<string, string | number>): Promise<void>;
  delete(keys: string[]): Promise<number>;
}

export interface Saved {
  /** Another release does not resume from it. */
  release: string;
  state: SavedState;
}

const STATE_KEY = 'saved.';
const TOTALS_KEY = 'awake';
/** Each gateway has a key. */
const GATEWAY_KEY = 'gateway.';
/** Length of a part in UTF-16 units. A value may have 2 MB. */
const PART_LENGTH = 500_000;
/** Keys in one call. */
const MAX_PARTS = 128;

export class SavedStorage {
  readonly #storage: SavedStorageMethods;
  readonly #release: string;
  readonly #gateways = new Set<number>();
  #parts: string[] = [];

  /** `release`: the version of this program and its schema. */
  constructor(storage: SavedStorageMethods, release: string) {
    this.#storage = storage;
    this.#release = release;
  }

  /** The gateways that have ever had a connection. */
  get gateways(): ReadonlySet<number> {
    return this.#gateways;
  }

  /** The gateway is about to have a connection. */
  addGateway(gateway: number): void {
    if (this.#gateways.has(gateway)) return;
    this.#gateways.add(gateway);
    void this.#storage.put({ [`${GATEWAY_KEY}${gateway}`]: gateway });
  }

  /** What was saved last, unless it was discarded. */
  async load(): Promise<{ state?: SavedState; totals?: AwakeTotals }> {
    const stored = await this.#storage.list();
    for (const [key, value] of stored) if (key.startsWith(GATEWAY_KEY)) this.#gateways.add(Number(value));
    this.#parts = [...stored.keys()].filter((key) => key.startsWith(STATE_KEY)).sort();
    const totals = stored.get(TOTALS_KEY);
    const text = this.#parts.map((key) => stored.get(key)).join('');
    return { ...(totals !== undefined && { totals: JSON.parse(String(totals)) }), ...this.#stateOf(text) };
  }

  /** Saves the state. False: it is too long. */
  save(state: SavedState, totals: AwakeTotals): boolean {
    const saved: Saved = { release: this.#release, state };
    const text = JSON.stringify(saved);
    const parts = Array.from({ length: Math.ceil(text.length / PART_LENGTH) }, (_, at): [string, string] => [
      `${STATE_KEY}${String(at).padStart(3, '0')}`,
      text.slice(at * PART_LENGTH, (at + 1) * PART_LENGTH),
    ]);
    if (parts.length >= MAX_PARTS) return false;
    this.#parts = parts.map(([key]) => key);
    // Not awaited: storage orders its own writes, and holds back what the object sends until they are done.
    void this.#storage.put({ ...Object.fromEntries(parts), [TOTALS_KEY]: JSON.stringify(totals) });
    return true;
  }

  /** The state in memory is about to differ: what was saved must never be used again. */
  discard(): void {
    if (this.#parts.length > 0) void this.#storage.delete(this.#parts);
    this.#parts = [];
  }

  #stateOf(text: string): { state?: SavedState } {
    if (text === '') return {};
    const { release, state } = JSON.parse(text) as Saved;
    return release === this.#release ? { state } : {};
  }
}
