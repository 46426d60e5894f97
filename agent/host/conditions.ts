/**
 * Conditions: the current faults of this host, one sentence for each kind (P40). Logs each fault that begins
 * or ends, and calls a listener on each change of a text. Never detects faults itself.
 */

import { cutText } from '../../shared/protocol/bounds.ts';
import type { ConditionKind } from '../../shared/protocol/conditions.ts';
import { type Condition, MAX_CONDITION_LENGTH } from '../../shared/protocol/up.ts';
import type { Logger } from '../logger.ts';

/** Keeps the text of a condition short. */
const MAX_NAMED = 20;

export interface ConditionsOptions {
  log: Logger;
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

  /** Undefined: the fault does not exist. */
  set(kind: ConditionKind, sentence: string | undefined): void {
    // An engine's message may be a whole page of a proxy.
    const text = sentence === undefined ? undefined : cutText(sentence, MAX_CONDITION_LENGTH);
    const before = this.#texts.get(kind);
    if (before === text) return;
    if (text === undefined) this.#texts.delete(kind);
    else this.#texts.set(kind, text);
    const { log, changed } = this.#options;
    if (before === undefined) log('condition.began', { kind, text: text ?? '' });
    if (text === undefined) log('condition.ended', { kind });
    changed(Array.from(this.#texts, ([one, its]) => ({ kind: one, text: its })));
  }
}

/** Undefined if there are none. */
export function stuckContainers(
  services: readonly { service: number; reason: string }[],
): string | undefined {
  const [first] = services;
  if (!first) return undefined;
  const named = services.slice(0, MAX_NAMED).map(({ service }) => service);
  const ids = `${named.join(', ')}${services.length > MAX_NAMED ? ' ...' : ''}`;
  return `the engine does not stop or remove containers of services (${ids}), which the agent tries again: ${first.reason}`;
}

/** Undefined if there are none. */
export function unknownContainers(services: readonly number[]): string | undefined {
  if (services.length === 0) return undefined;
  const named =
    services.length > MAX_NAMED ? `${services.slice(0, MAX_NAMED).join(', ')} ...` : services.join(', ');
  const what = services.length === 1 ? 'a service that is' : `${services.length} services that are`;
  return (
    `this host has containers of ${what} unknown to the control plane (${named}), perhaps because its database ` +
    'is a restored copy: remove them by hand, or set BERTH_UNKNOWN_CONTAINERS=remove'
  );
}
