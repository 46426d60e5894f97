/** The allowance of each host for secrets: what counts, and who waits. */
import { beforeEach, expect, test } from 'vitest';
import { metricsText } from '../../../control-plane/core/metrics/family.ts';
import { OperationError } from '../../../control-plane/core/model/errors.ts';
import { SecretFetches } from '../../../control-plane/guard/secret-fetches.ts';

const MAX_BYTES = 32_000;
let nowMs: number;
let exceeded: number[];
let fetches: SecretFetches;

beforeEach(() => {
  [nowMs, exceeded] = [1_000_000, []];
  fetches = new SecretFetches({
    secretFetchBytes: MAX_BYTES,
    nowMs: () => nowMs,
    log: (_, { host }) => exceeded.push(Number(host)),
  });
});

const fetchOf = (host: number, valueBytes: number, descriptionLength = 0) =>
  fetches
    .run(host, async (count) => {
      count({ descriptionLength });
      count({ valueBytes });
      return 'values';
    })
    .catch(({ code, retryAfterS }: OperationError) => [code, retryAfterS]);

test('P240: a host fetches up to its allowance at once, then waits until it is within it again; others do not', async () => {
  expect(await fetchOf(1, MAX_BYTES)).toBe('values');
  expect(await fetchOf(1, 2_000)).toBe('values');
  for (let n = 0; n < 3; n++) expect(await fetchOf(1, 1)).toEqual(['too-many', 2 + 3]);
  expect(await fetchOf(2, 1)).toBe('values');
  expect(exceeded).toEqual([1]);
  nowMs += 5_000;
  expect(await fetchOf(1, 1)).toBe('values');
});

test('P240: each request counts as 4 KiB at least, whatever its outcome, and a long description counts', async () => {
  const failing = new OperationError('not-found', 'no such start');
  for (let n = 0; n < 8; n++)
    await expect(fetches.run(1, () => Promise.reject(failing))).rejects.toBe(failing);
  expect(await fetchOf(1, 0)).toEqual(['too-many', 1]);
  expect(await fetchOf(2, 0, 4 * MAX_BYTES + 8)).toBe('values');
  expect(await fetchOf(2, 0)).toEqual(['too-many', 1]);
  const text = metricsText(fetches.counts.families());
  const outcomes = { values: 1, 'not-assigned': 8, excess: 2, refused: 0 };
  for (const [outcome, count] of Object.entries(outcomes))
    expect(text).toContain(`berth_secret_fetches_total{outcome="${outcome}"} ${count}\n`);
});

test('P240: two requests of a host run at a time, four in all, and requests that wait have not begun', async () => {
  const running: string[] = [];
  const release = Promise.withResolvers<void>();
  const all = ['a', 'b', 'c'].flatMap((name, host) =>
    Array.from({ length: 3 }, () =>
      fetches.run(host, async () => {
        running.push(name);
        await release.promise;
      }),
    ),
  );
  await new Promise(setImmediate);
  expect(running.sort()).toEqual(['a', 'a', 'b', 'b']);
  release.resolve();
  await Promise.all(all);
  expect(running).toHaveLength(9);
});
