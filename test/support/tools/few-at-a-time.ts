/** Writes to a libSQL server for a few items at a time, since sqld fails under a long crowd (STORE-14). */

const FEW = 4;

/** As `Promise.all(items.map(run))`, but begins the next one only when one of the few before it has ended. */
export async function fewAtATime<T, R>(items: readonly T[], run: (item: T, nth: number) => Promise<R> | R) {
  const results: R[] = [];
  const left = items.entries();
  const worker = async () => {
    for (const [nth, item] of left) results[nth] = await run(item, nth);
  };
  await Promise.all(Array.from({ length: FEW }, worker));
  return results;
}
