import { expect, test } from 'vitest';
import type { Execution } from '../../../../control-plane/core/model/execution.ts';
import {
  demandFromText,
  demandText,
  gangDemandOf,
} from '../../../../control-plane/core/scheduling/resource-demand.ts';
import { DemandTable, SortedTable } from '../../../../control-plane/core/state/demand-table.ts';
import { application, needs, service } from '../../../support/fixtures/applications.ts';
import { cases, fc } from '../../../support/tools/random-cases.ts';

const demand = (cores: number, labels: string[] = []) =>
  gangDemandOf(application(service({ resources: needs(1_000, cores), labels })));

test('C176: equal demands are one object, and equal labels of different demands are one list', () => {
  const table = new DemandTable<Execution>();
  const [one, other, labelled] = [demand(1), demand(2), demand(1, ['gpu'])].map((each) => table.share(each));
  expect(table.share(demandFromText(demandText(demand(1))))).toBe(one);
  expect(table.share(demand(1, ['gpu']))).toBe(labelled);
  expect(new Set([one, other, labelled]).size).toBe(3);
  expect(table.share(demand(2, ['gpu'])).labels).toBe(labelled?.labels);
});

test('C176: a demand is forgotten with the last execution that has it', () => {
  const table = new DemandTable<Execution>();
  const one = table.share(demand(1, ['gpu']));
  table.share(demand(1, ['gpu']));
  table.release(one);
  expect(table.share(demand(1, ['gpu']))).toBe(one);
  for (let at = 0; at < 2; at++) table.release(one);
  const later = table.share(demand(1, ['gpu']));
  expect(later).not.toBe(one);
  expect(later.labels).not.toBe(one.labels);
});

test('C176: a demand has the needs, the usage and the weight of its services', () => {
  const files = [{ name: 'key', path: '/etc/key' }];
  const given = gangDemandOf(
    application(
      service({ name: 'small', resources: needs(10, 0.5, 25), total_count: 3, essential_count: 2 }),
      service({ name: 'large', resources: needs(30, 1, null), labels: ['gpu'], files }),
      service({ name: 'alike', resources: needs(10, 0.5, 25) }),
    ),
  );
  const shared = new DemandTable<Execution>().share(given);
  for (const each of [given, shared, demandFromText(demandText(given))]) {
    expect(each.needs).toEqual([
      {
        count: 1,
        memoryBytes: 30,
        limitBytes: null,
        cores: 1,
        labels: ['gpu'],
        weight: 1,
        secretFiles: true,
      },
      { count: 3, memoryBytes: 10, limitBytes: 25, cores: 0.5, labels: [], weight: 1 },
    ]);
    expect(each.usage(100)).toEqual({ executions: 1, memoryBytes: 175, microCores: 2_500_000 });
    expect(each.reserved).toEqual({ memoryBytes: 60, cores: 2.5 });
    expect(each.weight).toBe(4);
    expect(each.least).toEqual({ memoryBytes: 10, cores: 0.5 });
  }
});

test('C176: the sorted table finds what was added and not removed', () => {
  const numbers = fc.array(fc.tuple(fc.boolean(), fc.nat({ max: 2_000 })), { maxLength: 3_000, size: 'max' });
  fc.assert(
    fc.property(numbers, fc.boolean(), (steps, ascending) => {
      const table = new SortedTable<{ value: number }>((a, b) => a.value - b.value);
      const model = new Map<number, { value: number }>();
      for (const [at, [isAdded, some]] of steps.entries()) {
        const value = ascending && isAdded ? at : some;
        const known = model.get(value);
        expect(table.find({ value })).toBe(known);
        if (isAdded && !known) {
          model.set(value, { value });
          table.add(model.get(value) ?? { value });
        } else if (known) {
          table.remove(known);
          model.delete(value);
        }
      }
      for (const [value, one] of model) expect(table.find({ value })).toBe(one);
    }),
    cases(5),
  );
});
