/** Mutants of standbys. Only worlds with standbys reveal them. */
import type { Mutant } from './mutant.ts';

const watch = 'control-plane/core/state/takeover-watch.ts';
const standby = 'control-plane/coordinator/standby.ts';
const heartbeat = 'control-plane/coordinator/epoch/heartbeat.ts';
const epoch = 'control-plane/store/db/epoch.ts';

const mutantsOfStandbys: readonly Mutant[] = [
  {
    name: 'take over although the counter moves',
    inShortForm: true,
    file: watch,
    from: 'isSameSighting(before.seen, seen) &&',
    to: '',
  },
  {
    name: 'never take over',
    file: watch,
    from: "  return sentMs - sinceMs >= SILENCE_MS ? 'take-over' : 'wait';",
    to: "  return sentMs - sinceMs < 0 && seen.epoch < 0 ? 'take-over' : 'wait';",
  },
  {
    name: 'take over without a look at what has happened since',
    file: epoch,
    from: '  const hasMoved = seen !== undefined && !isSameSighting(sightingOf(held), seen);',
    to: '  const hasMoved = seen !== undefined && Number(held.epoch) < 0;',
  },
  {
    name: 'move the counter only with commits',
    file: heartbeat,
    from: '    this.#clock.after(BEAT_PERIOD_MS, () => this.#beat(epoch));',
    to: '',
  },
  {
    name: 'move the counter of a later coordinator',
    file: heartbeat,
    from: '    this.#db.batch([beat(epoch)]).then(',
    to: "    this.#db.batch([{ sql: 'UPDATE coordinator SET beats = beats + 1', args: [] }]).then(",
  },
  {
    name: 'watch no more after a takeover by another one',
    file: standby,
    from: "    this.#verdict = 'wait';\n    this.start();",
    to: "    this.#verdict = 'wait';",
  },
  {
    name: 'dial the same control plane for ever',
    file: 'agent/connection/addresses.ts',
    from: '    this.#current = (this.#current + 1) % this.#urls.length;',
    to: '    this.#current = this.#preferred;',
  },
];

export const standbyMutants: readonly Mutant[] = mutantsOfStandbys.map((mutant) => ({
  ...mutant,
  standby: true,
}));
