import { expect, test } from 'vitest';
import type { ServiceDescription } from '../../../../shared/application-schema.ts';
import { application, needs, service } from '../../../support/fixtures/applications.ts';
import { hostFacts, named, running } from '../../../support/rigs/core-rig.ts';
import { rigWith } from '../../../support/rigs/quotas.ts';

const MIB = 2 ** 20;
const GIB = 2 ** 30;

type Memory = ServiceDescription['resources']['memory'];
const using = (memory: Memory) =>
  application(service({ resources: { memory, cores: { min: 0, max: null } } }));

test.each<[string, Memory, number]>([
  ['the maximum', { min: 10 * MIB, max: 20 * MIB }, 20 * MIB],
  ['the maximum, however small', { min: null, max: 1 }, 1],
  ['the minimum without a maximum', { min: 6 * MIB, max: null }, 6 * MIB],
  [
    'the default for a minimum below 6 MiB, which no engine takes',
    { min: 6 * MIB - 1, max: null },
    512 * MIB,
  ],
  ['the default without either', { min: null, max: null }, 512 * MIB],
  ['the default for a maximum of 0, which would be no limit', { min: 0, max: 0 }, 512 * MIB],
])('C198: what counts is %s', (_, memory, counted) => {
  const rig = rigWith({ memoryBytes: 2 * counted });
  rig.hello(hostFacts('huge', { memoryBytes: 64 * GIB, cores: 4 }));
  const executions = Array.from({ length: 3 }, () => rig.submit(using(memory)));
  rig.turn();
  expect(executions.map(({ status }) => status)).toEqual(['starting', 'starting', 'queued']);
  expect(rig.cluster.usage(1).memoryBytes).toBe(2 * counted);
  const reserved = [...rig.cluster.hosts.values()].reduce((sum, one) => sum + one.reservedMemoryBytes, 0);
  expect(reserved).toBe(2 * (memory.min ?? 0));
});

test('C198: elastic services of the user are preempted for the limit of a start, as far as their own limits suffice', () => {
  const rig = rigWith({ memoryBytes: 40 * MIB });
  const elastic = service({ total_count: 3, essential_count: 1, resources: needs(1, 0, 10 * MIB) });
  const first = rig.submitInTurn(application(elastic));
  rig.see(named(first, 'web0'), running);
  expect(rig.cluster.usage(1).memoryBytes).toBe(30 * MIB);
  const second = rig.submit(application(service({ resources: needs(1, 0, 20 * MIB) })));
  const texts = rig.turn();
  expect(texts.filter((text) => text.startsWith('preempt'))).toHaveLength(1);
  expect(second.status).toBe('starting');
  expect(rig.cluster.usage(1).memoryBytes).toBe(40 * MIB);
});

test('C198: executions that differ only in their maximum are of different classes', () => {
  const rig = rigWith({ memoryBytes: 30 * MIB });
  const large = rig.submit(using({ min: 1, max: 40 * MIB }));
  const small = rig.submitInTurn(using({ min: 1, max: 20 * MIB }));
  expect([large.status, small.status]).toEqual(['queued', 'starting']);
});
