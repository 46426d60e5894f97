import { expect, test } from 'vitest';
import { type Host, newHost } from '../../../../control-plane/core/model/host.ts';
import type { Requirement } from '../../../../control-plane/core/model/resources.ts';
import {
  defaultSchedulerConfig,
  type SchedulerConfig,
} from '../../../../control-plane/core/model/scheduler-config.ts';
import type { Service } from '../../../../control-plane/core/model/service.ts';
import { freeCapacityOf } from '../../../../control-plane/core/scheduling/free-capacity.ts';
import { hostIndexOf, placeGang } from '../../../../control-plane/core/scheduling/gang-placement.ts';
import { fits } from '../../../../control-plane/core/scheduling/host-filters.ts';
import { application, service } from '../../../support/fixtures/applications.ts';
import { loadedExecution } from '../../../support/rigs/core-rig.ts';
import { cases, fc } from '../../../support/tools/random-cases.ts';

/** Ids by name, in the order of first use. */
const ids = new Map<string, number>();

function host(name: string, changes: Partial<Host> = {}): Host {
  const id = ids.get(name) ?? ids.size + 1;
  ids.set(name, id);
  return { ...newHost(id, name, 0), memoryBytes: 100, cores: 4, connected: true, ...changes };
}

function services(...requirements: Partial<Requirement>[]): Service[] {
  const description = application(service({ total_count: requirements.length }));
  const ids = { execution: 1, service: 1, host: 1 };
  const submission = { userId: 1, name: 'run', application: description, description: '' };
  return loadedExecution(ids, submission, 0).services.map((one, at) => ({
    ...one,
    requirement: { memoryBytes: 0, limitBytes: null, cores: 0, labels: [], weight: 1, ...requirements[at] },
  }));
}

/** The host of each service, by name, in the order of the services; null if the gang does not fit. */
const placed = (gang: Service[], ...hosts: Host[]): (string | undefined)[] | null => {
  const placements = placeGang(gang, hostIndexOf(hosts));
  return placements && gang.map((one) => placements.find(({ service }) => service === one)?.host.name);
};

test.each<[string, Partial<Host>]>([
  ['it is connected', { connected: false }],
  ['it is not drained', { schedulable: false }],
  ['it is not lost', { lost: true }],
])('C3: a host takes a service only if %s', (_, changes) => {
  expect(placed(services({}), host('one'))).toEqual(['one']);
  expect(placed(services({}), host('one', changes))).toBeNull();
});
test('C3: a host takes a service only if it has all labels of the service', () => {
  const gang = services({ labels: ['ssd', 'gpu'] });
  expect(placed(gang, host('one', { labels: ['gpu'] }))).toBeNull();
  expect(placed(gang, host('one', { labels: ['gpu', 'arm', 'ssd'] }))).toEqual(['one']);
});
test('C3: a host takes a service only if it has enough free memory, to the byte, and cores, even if these are sums of tenths', () => {
  expect(placed(services({ memoryBytes: 60 }), host('one', { reservedMemoryBytes: 40 }))).toEqual(['one']);
  expect(placed(services({ memoryBytes: 60 }), host('one', { reservedMemoryBytes: 41 }))).toBeNull();
  const tenths = services(...Array.from({ length: 10 }, () => ({ cores: 0.1 })));
  expect(placed(tenths, host('one', { cores: 1 }))).toHaveLength(10);
  expect(placed(services({ cores: 0.2 }), host('one', { cores: 1, reservedCores: 0.9 }))).toBeNull();
});

test('C2: a gang is placed all together or not at all, and leaves no trace on the hosts then', () => {
  const gang = services({ memoryBytes: 60 }, { memoryBytes: 60 }, { memoryBytes: 60 });
  expect(placed(gang, host('one'), host('two'))).toBeNull();
  expect(placed(gang, host('one'), host('two'), host('three'))?.toSorted()).toEqual(['one', 'three', 'two']);
  const one = host('one');
  placed(services({ memoryBytes: 60 }, { memoryBytes: 60 }), one);
  expect(one).toEqual(host('one'));
});
test('C2: a gang shares the free capacity of a host among its members, and fits anywhere if it is empty, even without hosts', () => {
  expect(placed(services({ cores: 2 }, { cores: 2 }), host('one'))).toEqual(['one', 'one']);
  expect(placed(services({ cores: 2 }, { cores: 3 }), host('one'))).toBeNull();
  expect(placed([])).toEqual([]);
});
test('C2: a gang places its largest members first, so that small ones do not take their capacity', () => {
  const gang = services({ memoryBytes: 10 }, { memoryBytes: 100 });
  expect(placed(gang, host('one'), host('two', { memoryBytes: 20 }))).toEqual(['two', 'one']);
});

test('C4: a gang spreads', () => {
  const gang = services({ cores: 1 }, { cores: 1 }, { cores: 1 }, { cores: 1 });
  expect(placed(gang, host('a'), host('b'))?.toSorted()).toEqual(['a', 'a', 'b', 'b']);
});

const busy = host('busy', { reservedCores: 3, reservedMemoryBytes: 20 });
const half = host('half', { reservedCores: 2 });
const idle = host('idle');
const gang = (count: number) => services(...Array.from({ length: count }, () => ({ cores: 1 })));
const where = (scheduling: Partial<SchedulerConfig>, count: number, ...hosts: Host[]) =>
  placeGang(gang(count), hostIndexOf(hosts, { ...defaultSchedulerConfig, ...scheduling }))?.map(
    ({ host: { name } }) => name,
  );

test('C61: average takes the emptiest host that fits, waterfill the fullest', () => {
  expect(where({ placementPolicy: 'average' }, 3, busy, half, idle)).toEqual(['idle', 'idle', 'half']);
  expect(where({ placementPolicy: 'waterfill' }, 3, idle, half, busy)).toEqual(['busy', 'half', 'half']);
});
test('C61: random takes each host that fits at some time, and the same ones with the same seed', () => {
  const hosts = Array.from({ length: 5 }, (_, at) => host(`r${at}`, { cores: 100 + at }));
  const many = (seed: number) => where({ placementPolicy: 'random', seed }, 100, busy, ...hosts);
  expect(new Set(many(1))).toEqual(new Set(['busy', 'r0', 'r1', 'r2', 'r3', 'r4']));
  expect(many(1)).toEqual(many(1));
  expect(many(1)).not.toEqual(many(2));
});

const size = fc.record({ memoryBytes: fc.nat({ max: 60 }), cores: fc.nat({ max: 3 }) });
const changes = fc.record({
  memoryBytes: fc.constantFrom(50, 100),
  cores: fc.constantFrom(2, 4),
  labels: fc.subarray(['ssd', 'gpu']),
  connected: fc.constantFrom(true, true, true, false),
  reservedMemoryBytes: fc.nat({ max: 40 }),
  reservedCores: fc.nat({ max: 2 }),
});
test.each(['average', 'waterfill', 'random'] as const)(
  'C4, C61: %s finds the same host as a check of every host, of equal ones the first, whatever changed before',
  (placementPolicy) => {
    const scheduling = { ...defaultSchedulerConfig, placementPolicy };
    const needs = fc.record({ size, labels: fc.subarray(['ssd', 'gpu']) });
    const history = fc.array(fc.record({ at: fc.nat({ max: 8 }), changes }), { maxLength: 30 });
    let found = 0;
    fc.assert(
      fc.property(history, needs, (lives, { size, labels }) => {
        const hosts = Array.from({ length: 9 }, (_, at) => host(`p${at}`));
        const hostIndex = hostIndexOf(hosts.toReversed(), scheduling);
        for (const life of lives) {
          const one = hosts[life.at] as Host;
          Object.assign(one, life.changes);
          hostIndex.update(one);
        }
        const [service] = services({ ...size, labels }) as [Service];
        const able = hosts.filter((one) => fits(freeCapacityOf(one), service.requirement));
        const taken = hostIndex.selectHost(service);
        if (placementPolicy === 'random') {
          expect(able.length === 0 ? undefined : taken).toBe(able.find((one) => one === taken));
          if (able.length > 0) expect(taken).toBeDefined();
        } else {
          const share = (one: Host) => {
            const { memoryBytes, cores } = freeCapacityOf(one);
            return Math.min(memoryBytes / one.memoryBytes, cores / one.cores);
          };
          const sign = placementPolicy === 'average' ? -1 : 1;
          const [best] = able.toSorted((a, b) => sign * (share(a) - share(b)) || a.id - b.id);
          expect(taken?.name).toBe(best?.name);
        }
        if (taken) found++;
      }),
      cases(60),
    );
    expect(found).toBeGreaterThan(10);
  },
);
