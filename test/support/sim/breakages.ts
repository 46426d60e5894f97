/** Owns the single-line changes of the sources that the checkers of the simulation must find. */

export interface Breakage {
  name: string;
  file: string;
  from: string;
  to: string;
}

export const breakages: readonly Breakage[] = [];
