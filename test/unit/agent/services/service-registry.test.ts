import { expect, test } from 'vitest';
import type { OutputState } from '../../../../agent/logs/output-store.ts';
import { TrackedService } from '../../../../agent/services/service-registry.ts';
import { assignment } from '../../../support/fixtures/assignments.ts';

test('P10: the log of an ended container ends only after the store has all its output', () => {
  const key = { service: 1, generation: 1 };
  const tracked = new TrackedService(1);
  tracked.assign(assignment(), { kind: 'started' });
  const ended = { state: 'exited', exitCode: 0, outOfMemory: false, finishedAtMs: 2 } as const;
  tracked.update({ ...key, id: 'c1', ...ended });
  const states: readonly OutputState[] = ['unknown', 'preserved', 'complete'];
  expect(states.map((state) => tracked.mayWrite(key, () => state))).toEqual([true, true, false]);
});
