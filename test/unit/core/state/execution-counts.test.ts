import { expect, test } from 'vitest';
import { gangDemandOf } from '../../../../control-plane/core/scheduling/resource-demand.ts';
import { ExecutionCounts } from '../../../../control-plane/core/state/execution-counts.ts';
import { application, needs, service } from '../../../support/fixtures/applications.ts';

const MIB = 2 ** 20;
const groups = (count: number, labelsOf: (group: number) => string[] = () => []) =>
  gangDemandOf(
    application(
      ...Array.from({ length: count }, (_, group) =>
        service({ name: `group${group}-`, resources: needs(MIB, group), labels: labelsOf(group) }),
      ),
    ),
  );
const waitingOf = (demand: ReturnType<typeof groups>) => ({ userId: 7, descriptionBytes: 1_000, demand });
const bytesOf = (demand: ReturnType<typeof groups>): number => {
  const counts = new ExecutionCounts();
  counts.moved(waitingOf(demand), null, 'queued');
  return counts.waitingOf(7).bytes;
};

test('H357: 32 different needs count nothing beside their description; each further one counts 16 times its 32 bytes', () => {
  expect(bytesOf(groups(32))).toBe(1_000);
  expect(bytesOf(groups(100))).toBe(1_000 + 16 * 32 * 68);
});

test('H357: each label of a list counts, and the text of a label and the list itself once', () => {
  const own = (group: number) => Array.from({ length: 100 }, (_, at) => `${group}-${at}`.padStart(5, 'x'));
  const ownBytes = 32 * 32 + 32 * (48 + 100 * 8) + 3_200 * (24 + 2 * 5);
  expect(bytesOf(groups(32, own))).toBe(1_000 + 16 * (ownBytes - 1_024));
  const sharedBytes = 32 * 32 + 48 + 100 * 8 + 100 * (24 + 2 * 5);
  expect(bytesOf(groups(32, () => own(0)))).toBe(1_000 + 16 * (sharedBytes - 1_024));
});

test('H357: what ceases to wait counts no longer', () => {
  const counts = new ExecutionCounts();
  const one = waitingOf(groups(100));
  counts.moved(one, null, 'queued');
  counts.moved(one, null, 'queued');
  counts.moved(one, 'queued', 'starting');
  expect(counts.waitingOf(7)).toEqual({ executions: 1, bytes: bytesOf(groups(100)) });
  counts.moved(one, 'queued', null);
  expect(counts.waitingOf(7)).toEqual({ executions: 0, bytes: 0 });
  expect(counts.waiting).toBe(0);
});
