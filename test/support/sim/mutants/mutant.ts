/** What a mutant is, and how it is applied to a source. */
import type { FaultName } from '../faults/fault-names.ts';

export interface Mutant {
  name: string;
  file: string;
  from: string;
  to: string;
  /** Faults that reveal the mutant. Every run of the search for it includes these faults. */
  faults?: readonly FaultName[];
  /** True if the search for it needs worlds with standbys. It has no others, and other searches have none. */
  standby?: boolean;
  /** The same for worlds with streams. */
  streams?: boolean;
  /** True if `npm test` searches for it, and not only `npm run test:all`. */
  inShortForm?: boolean;
}

/** Applies the mutant to the source. Throws if the line does not occur exactly once. */
export function mutate(source: string, { name, file, from, to }: Mutant): string {
  const parts = source.split(from);
  if (parts.length === 2) return parts.join(to);
  const found = parts.length === 1 ? 'does not occur' : `occurs ${parts.length - 1} times`;
  throw new Error(
    `the mutant "${name}" does not apply: its line ${found} in ${file}; update it in test/support/sim/mutants`,
  );
}
