/**
 * Owns what is wrong with this host at the moment (PROTOCOL.md P40): one sentence for each kind. Tells the journal when
 * something comes or goes, and whoever listens when words change. Never finds out by itself.
 */
import type { Condition } from '../shared/protocol/up.ts';
import type { Journal } from './journal.ts';

export type ConditionKind = 'low-disk' | 'no-engine' | 'no-network' | 'clock-skew';

export interface ConditionsOptions {
  journal: Journal;
  changed(all: readonly Condition[]): void;
}

export class Conditions {
  readonly #options: ConditionsOptions;
  readonly #texts = new Map<ConditionKind, string>();

  constructor(options: ConditionsOptions) {
    this.#options = options;
  }

  textOf(kind: ConditionKind): string | undefined {
    return this.#texts.get(kind);
  }

  /** Undefined: all is well in this respect. */
  put(kind: ConditionKind, text: string | undefined): void {
    const before = this.#texts.get(kind);
    if (before === text) return;
    if (text === undefined) this.#texts.delete(kind);
    else this.#texts.set(kind, text);
    const { journal, changed } = this.#options;
    if (before === undefined) journal('condition.began', { kind, text: text ?? '' });
    if (text === undefined) journal('condition.ended', { kind });
    changed(Array.from(this.#texts, ([one, words]) => ({ kind: one, text: words })));
  }
}
