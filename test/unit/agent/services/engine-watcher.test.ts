import { expect, test } from 'vitest';
import { EngineWatcher } from '../../../../agent/services/engine-watcher.ts';
import { eventually } from '../../../support/tools/eventually.ts';

test('P314: an engine that is away is logged once until it answers again, whatever reasons its attempts have', async () => {
  const log: string[] = [];
  const lost: string[] = [];
  let isAway = true;
  let ready = 0;
  const over = Promise.withResolvers<void>();
  const watcher = new EngineWatcher({
    engine: {
      watch: async () => {
        if (isAway) throw new Error(`attempt ${lost.length + 1}`);
        return { ended: over.promise, close: () => {} };
      },
    },
    changed: () => {},
    refresh: async () => {},
    lost: (reason) => lost.push(reason),
    refreshMs: 1_000,
    retryMs: 1,
    log: (event, fields) => log.push(`${event} ${fields?.reason}`),
  });
  const running = watcher.run(() => {
    ready += 1;
  });
  await eventually(() => lost.length >= 3);
  isAway = false;
  await eventually(() => ready === 1);
  expect(log).toEqual(['engine.lost attempt 1']);
  isAway = true;
  const before = lost.length;
  over.reject(new Error('ended'));
  await eventually(() => lost.length >= before + 3);
  watcher.close();
  await running;
  expect(log).toEqual(['engine.lost attempt 1', 'engine.lost ended']);
});
