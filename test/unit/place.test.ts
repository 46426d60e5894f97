import { describe, expect, test } from 'vitest';
import { type Host, newHost } from '../../control-plane/core/host.ts';
import { placeAll } from '../../control-plane/core/place.ts';
import type { Requirement, Service } from '../../control-plane/core/service.ts';
import { newExecution } from '../../control-plane/core/submission.ts';
import { application, service } from '../support/applications.ts';

function host(name: string, changes: Partial<Host> = {}): Host {
  return { ...newHost(1, name, 0), memoryBytes: 100, cores: 4, connected: true, ...changes };
}

function services(...requirements: Partial<Requirement>[]): Service[] {
  const description = application(service({ total_count: requirements.length }));
  const ids = { execution: 1, service: 1, host: 1 };
  const submission = {
    userId: 1,
    name: 'run',
    application: description,
    description: '',
  };
  return newExecution(ids, submission, 0).services.map((one, at) => ({
    ...one,
    requirement: { memoryBytes: 0, cores: 0, labels: [], ...requirements[at] },
  }));
}

/** Where each service goes, by name, in the order of the services; null where the gang does not fit. */
const placed = (gang: Service[], ...hosts: Host[]): (string | undefined)[] | null => {
  const placements = placeAll(gang, hosts);
  return placements && gang.map((one) => placements.find((place) => place.service === one)?.host.name);
};

describe('C3: a host takes a service only where', () => {
  test.each<[string, Partial<Host>]>([
    ['it is connected', { connected: false }],
    ['it is not drained', { schedulable: false }],
    ['it is not lost', { lost: true }],
  ])('C3: %s', (_, changes) => {
    expect(placed(services({}), host('one'))).toEqual(['one']);
    expect(placed(services({}), host('one', changes))).toBeNull();
  });
  test('C3: it has all of the labels', () => {
    const gang = services({ labels: ['ssd', 'gpu'] });
    expect(placed(gang, host('one', { labels: ['gpu'] }))).toBeNull();
    expect(placed(gang, host('one', { labels: ['gpu', 'arm', 'ssd'] }))).toEqual(['one']);
  });
  test('C3: it has the memory left, to the byte', () => {
    expect(placed(services({ memoryBytes: 60 }), host('one', { reservedMemoryBytes: 40 }))).toEqual(['one']);
    expect(placed(services({ memoryBytes: 60 }), host('one', { reservedMemoryBytes: 41 }))).toBeNull();
  });
  test('C3: it has the cores left, as sums of tenths add up', () => {
    const tenths = services(...Array.from({ length: 10 }, () => ({ cores: 0.1 })));
    expect(placed(tenths, host('one', { cores: 1 }))).toHaveLength(10);
    expect(placed(services({ cores: 0.2 }), host('one', { cores: 1, reservedCores: 0.9 }))).toBeNull();
  });
});

describe('C2: a gang', () => {
  test('C2: is placed all together or not at all', () => {
    const gang = services({ memoryBytes: 60 }, { memoryBytes: 60 }, { memoryBytes: 60 });
    expect(placed(gang, host('one'), host('two'))).toBeNull();
    expect(placed(gang, host('one'), host('two'), host('three'))?.toSorted()).toEqual([
      'one',
      'three',
      'two',
    ]);
  });
  test('C2: shares what is left of a host among its members', () => {
    expect(placed(services({ cores: 2 }, { cores: 2 }), host('one'))).toEqual(['one', 'one']);
    expect(placed(services({ cores: 2 }, { cores: 3 }), host('one'))).toBeNull();
  });
  test('C2: places its largest members first, so that small ones do not take their room', () => {
    expect(
      placed(
        services({ memoryBytes: 10 }, { memoryBytes: 100 }),
        host('one'),
        host('two', { memoryBytes: 20 }),
      ),
    ).toEqual(['two', 'one']);
  });
  test('C2: of nobody fits anywhere, also where there are no hosts', () => {
    expect(placed([])).toEqual([]);
  });
  test('C2: that does not fit leaves no trace on the hosts', () => {
    const one = host('one');
    placed(services({ memoryBytes: 60 }, { memoryBytes: 60 }), one);
    expect(one).toEqual(host('one'));
  });
});

describe('C4: of the hosts that fit', () => {
  test('C4: the one with the largest share of itself left is taken', () => {
    const half = host('half', { memoryBytes: 1000, reservedMemoryBytes: 500 });
    expect(placed(services({ memoryBytes: 10 }), half, host('idle'))).toEqual(['idle']);
  });
  test('C4: the scarcer of memory and cores counts', () => {
    const busy = host('busy', { reservedCores: 3 });
    expect(placed(services({}), busy, host('fuller', { reservedMemoryBytes: 60 }))).toEqual(['fuller']);
  });
  test('C4: a gang spreads', () => {
    expect(
      placed(
        services({ cores: 1 }, { cores: 1 }, { cores: 1 }, { cores: 1 }),
        host('a'),
        host('b'),
      )?.toSorted(),
    ).toEqual(['a', 'a', 'b', 'b']);
  });
});
