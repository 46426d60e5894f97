/** Finds what a word was probably meant to be. Pure. */

/** Longer words are not compared. */
const MAX_LENGTH = 64;

/** The candidate that is most like the word, if one is like it at all. */
export function mostLike(word: string, candidates: readonly string[]): string | undefined {
  const begun = candidates.filter((one) => word.length > 1 && one.startsWith(word));
  if (begun.length === 1) return begun[0];
  const all = candidates.map((one) => ({ one, steps: stepsBetween(word, one) }));
  const best = all.reduce<{ one: string; steps: number } | undefined>(
    (least, each) => (least === undefined || each.steps < least.steps ? each : least),
    undefined,
  );
  return best !== undefined && best.steps <= Math.max(1, Math.floor(word.length / 3)) ? best.one : undefined;
}

/** How many characters must be added, removed or replaced (Levenshtein). */
function stepsBetween(one: string, other: string): number {
  if (one.length > MAX_LENGTH || other.length > MAX_LENGTH) return Number.POSITIVE_INFINITY;
  let row = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (const [n, character] of [...one].entries()) {
    const next = [n + 1];
    for (const [at, another] of [...other].entries())
      next.push(
        Math.min(
          (row[at] ?? 0) + (character === another ? 0 : 1),
          (row[at + 1] ?? 0) + 1,
          (next[at] ?? 0) + 1,
        ),
      );
    row = next;
  }
  return row.at(-1) ?? 0;
}
