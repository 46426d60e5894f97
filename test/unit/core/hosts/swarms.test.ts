import { expect, test } from 'vitest';
import { swarmManagers } from '../../../../control-plane/core/hosts/swarms.ts';
import { type Host, newHost } from '../../../../control-plane/core/model/host.ts';

const host = (id: number, changes: Partial<Host>): Host => ({ ...newHost(id, `host${id}`, 0), ...changes });
const managersOf = (of: Host, ...hosts: Host[]): number[] =>
  swarmManagers({ hosts: new Map(hosts.map((one) => [one.id, one])) })(of).map(({ id }) => id);

const manager = host(1, { swarm: { node: 'm', isManager: true, managers: ['m'] } });
const worker = host(2, { swarm: { node: 'w', isManager: false, managers: ['m'] } });

test('C191: the managers of a host are those that its engine knows, and itself', () => {
  const other = host(3, { swarm: { node: 'x', isManager: true, managers: ['x'] } });
  expect(managersOf(worker, manager, worker, other)).toEqual([1]);
  expect(managersOf(manager, manager, worker, other)).toEqual([1]);
  expect(managersOf(host(4, {}), manager, worker)).toEqual([]);
});

test('C191: a worker that another host names, and a lost manager, do not count', () => {
  const liar = host(3, { swarm: { node: 'v', isManager: false, managers: ['w'] } });
  expect(managersOf(liar, manager, worker, liar)).toEqual([]);
  const lost = { ...manager, lost: true };
  expect(managersOf(worker, lost, worker)).toEqual([]);
});
