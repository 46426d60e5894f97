import { expect, test } from 'vitest';
import { isPreempted } from '../../../../control-plane/core/model/service.ts';
import type { ServiceDescription } from '../../../../shared/application-schema.ts';
import { application, needs, service } from '../../../support/fixtures/applications.ts';
import {
  CoreRig,
  exited,
  failed,
  gone,
  hostFacts,
  named,
  quota,
  running,
} from '../../../support/rigs/core-rig.ts';

/** A monitor of one core, and `count` elastic workers of one core each. */
const elastic = (count: number, changes: Partial<ServiceDescription> = {}) =>
  application(
    service({ name: 'main', resources: needs(null, 1) }),
    service({
      name: 'work',
      monitor: false,
      total_count: count,
      essential_count: 0,
      resources: needs(null, 1),
      ...changes,
    }),
  );
const rigid = (count: number, cores: number) =>
  application(service({ total_count: count, essential_count: count, resources: needs(null, cores) }));

/** A rig with one host for each number of cores. */
function rigWith(...cores: number[]): CoreRig {
  const rig = new CoreRig();
  for (const [at, each] of cores.entries()) rig.hello(hostFacts(`host${at}`, { cores: each }));
  rig.turn();
  return rig;
}

/** Submits an elastic application and reports all of its placed services as running. */
function run(rig: CoreRig, count: number, changes?: Partial<ServiceDescription>) {
  const execution = rig.submitInTurn(elastic(count, changes));
  rig.see(named(execution, 'main0'), running);
  for (const one of execution.services) if (one.status === 'starting') rig.see(one, running);
  return execution;
}
const statuses = ({ services }: { services: readonly { status: string }[] }) =>
  services.map(({ status }) => status);

test('C66: the death of an elastic service releases its capacity, and the service is placed again after a growing delay, however often it happens', () => {
  const rig = rigWith(2, 1);
  const execution = run(rig, 1);
  const work = named(execution, 'work0');
  const first = rig.hostOf(work).name;
  for (const delayMs of [1_000, 2_000, 4_000]) {
    rig.see(work, exited(3), gone);
    expect(work).toMatchObject({ status: 'inactive', placed: false });
    expect(rig.advance(delayMs - 1)).toEqual([]);
    expect(rig.advance(1)).toEqual([`place work0@${first}`, `start work0.${work.generation}`]);
    rig.see(work, running);
  }
  for (let death = 0; death < 12; death++) {
    rig.see(work, exited(1), gone);
    rig.advance(60_000);
    rig.see(work, running);
  }
  expect(execution.status).toBe('running');
});
test('C66: the death of an elastic service lets it go to another host if its capacity was taken meanwhile', () => {
  const rig = rigWith(2);
  const work = named(run(rig, 1), 'work0');
  rig.see(work, failed(true, 'busy'), gone);
  const other = rig.submitInTurn(rigid(1, 1));
  expect(other.status).toBe('starting');
  rig.advance(60_000);
  expect(work.placed).toBe(false);
  expect(rig.join(hostFacts('later'))).toEqual(['place work0@later', 'start work0.2']);
});

test('C67: an essential start that fits nowhere preempts elastic services, and begins once their containers are gone', () => {
  const rig = rigWith(4);
  const execution = run(rig, 3);
  const next = rig.submit(rigid(2, 1));
  expect(rig.turn()).toEqual([
    'preempt work2.1',
    'preempt work1.1',
    'place web0@host0 web1@host0',
    'stop work1.1',
    'stop work2.1',
  ]);
  expect(statuses(execution)).toEqual(['active', 'active', 'terminating', 'terminating']);
  expect([next.status, ...statuses(next)]).toEqual(['starting', 'inactive', 'inactive']);
  expect(rig.cluster.hostNamed('host0')?.reservedCores).toBe(4);
  expect(rig.see(named(execution, 'work1'), exited(137))).toEqual([]);
  expect(rig.see(named(execution, 'work1'), gone)).toEqual([]);
  expect(rig.see(named(execution, 'work2'), gone)).toEqual(['start web0.1', 'start web1.1']);
});
test('C67: an essential start that fits nowhere leaves the preempted capacity to no other execution', () => {
  const rig = rigWith(4);
  const execution = run(rig, 3);
  rig.submitInTurn(rigid(1, 2));
  const small = rig.submit(rigid(1, 0.5));
  expect(rig.turn()).toEqual(['preempt work0.1', 'place web0@host0', 'stop work0.1']);
  for (const one of execution.services.slice(1)) rig.see(one, gone);
  expect(small.services.map(({ status }) => status)).toEqual(['starting']);
  expect(rig.cluster.hostNamed('host0')?.reservedCores).toBe(3.5);
});
test('C67: an essential start that fits nowhere preempts nothing if not all of its services would fit even then, if it fits without, or if its user is over the quota', () => {
  const rig = rigWith(4);
  run(rig, 3);
  const large = [rig.submit(rigid(4, 1)), rig.submit(rigid(1, 4))];
  expect(rig.turn()).toEqual([]);
  for (const one of large) rig.terminate(one);
  rig.join(hostFacts('other', { cores: 2 }));
  rig.submit(rigid(2, 1));
  expect(rig.turn()[0]).toBe('place web0@other web1@other');
  const full = rigWith(4);
  full.cluster.setQuota(quota(2, { cores: 1 }));
  run(full, 3);
  full.submit(rigid(1, 2), 2);
  expect(full.turn()).toEqual([]);
});
test('C67: an essential start that fits nowhere preempts the fewest services on any host, of equals the youngest', () => {
  const rig = new CoreRig({ placementPolicy: 'waterfill' });
  for (const name of ['host0', 'host1']) rig.hello(hostFacts(name, { cores: 3 }));
  const small = run(rig, 2);
  const large = run(rig, 1, { resources: needs(null, 2) });
  expect(rig.cluster.hostNamed('host0')?.reservedCores).toBe(3);
  expect(rig.cluster.hostNamed('host1')?.reservedCores).toBe(3);
  rig.submit(rigid(1, 2));
  expect(rig.turn()[0]).toBe(`preempt ${named(large, 'work0').name}.1`);
  rig.submit(rigid(1, 1));
  expect(rig.turn()[0]).toBe('preempt work1.1');
  expect(isPreempted(named(small, 'work1'))).toBe(true);
  expect(isPreempted(named(small, 'work0'))).toBe(false);
});
test('C67: an essential start that fits nowhere also preempts a service that is only starting', () => {
  const rig = rigWith(3);
  const late = run(rig, 1, { startup_order: 1, essential_count: 0 });
  rig.see(named(late, 'work0'), exited(1), gone);
  rig.advance(1_000);
  expect(named(late, 'work0')).toMatchObject({ placed: true, status: 'starting' });
  rig.submit(rigid(1, 2));
  expect(rig.turn()).toEqual(['preempt work0.2', 'place web0@host0', 'stop work0.2']);
  expect(rig.see(named(late, 'work0'), gone)).toEqual(['start web0.1']);
});
test('C67: an essential start that fits nowhere preempts elastic services of its own user if the quota requires that', () => {
  const rig = rigWith(16);
  rig.cluster.setQuota(quota(1, { cores: 4 }));
  const execution = run(rig, 5);
  expect(rig.cluster.usage(1).microCores).toBe(4_000_000);
  const next = rig.submit(rigid(1, 2));
  expect(rig.turn().slice(0, 3)).toEqual(['preempt work2.1', 'preempt work1.1', 'place web0@host0']);
  for (const one of execution.services) if (isPreempted(one)) rig.see(one, gone);
  expect(statuses(next)).toEqual(['starting']);
  expect(rig.cluster.usage(1).microCores).toBe(4_000_000);
  rig.submit(rigid(1, 3));
  expect(rig.turn()).toEqual([]);
});
test('C65: an execution that needs the quota of its own elastic services starts when their host reconnects', () => {
  const rig = rigWith(2);
  rig.cluster.setQuota(quota(1, { cores: 2 }));
  const host = rig.hostOf(named(run(rig, 1), 'work0'));
  rig.disconnect(host);
  rig.turn();
  const waiting = rig.submitInTurn(rigid(1, 1));
  expect(waiting.status).toBe('queued');
  host.connected = true;
  rig.turn();
  expect(waiting.status).toBe('starting');
});

test('C68: a preempted elastic service is placed again when there is capacity, and its stop does not count as a death', () => {
  const rig = rigWith(2);
  const execution = run(rig, 1, { monitor: true });
  const work = named(execution, 'work0');
  const next = rig.submitInTurn(rigid(1, 1));
  rig.see(work, exited(143), gone);
  expect(execution.status).toBe('running');
  expect(work).toMatchObject({ status: 'inactive', exit: null, errorMessage: null, deathsMs: [] });
  rig.see(named(next, 'web0'), running, exited(0));
  expect(rig.see(named(next, 'web0'), gone)).toEqual([
    'finish 2 terminated',
    'place work0@host0',
    'start work0.2',
  ]);
});
test('C68: a preempted elastic service is stopped like any other if its execution ends meanwhile', () => {
  const rig = rigWith(2);
  const execution = run(rig, 1);
  const next = rig.submitInTurn(rigid(1, 1));
  rig.terminate(execution);
  rig.see(named(execution, 'main0'), gone);
  expect(execution.status).toBe('cleaning up');
  expect(rig.see(named(execution, 'work0'), gone)).toEqual(['finish 1 terminated', 'start web0.1']);
  expect(next.status).toBe('starting');
});
test('C68: a preempted elastic service delays the start on its host until a lost host reports that its container is gone', () => {
  const rig = rigWith(2);
  const host = rig.hostOf(named(run(rig, 1), 'work0'));
  const next = rig.submitInTurn(rigid(1, 1));
  rig.disconnect(host);
  rig.advance(200_000, { silent: true });
  expect(statuses(next)).toEqual(['inactive']);
  rig.join(hostFacts('host0', { cores: 2 }), []);
  expect(statuses(next)).toEqual(['starting']);
});

test('C53: what an elastic service that died leaves of the quota is offered to another one at once', () => {
  const rig = rigWith(8);
  rig.cluster.setQuota(quota(1, { cores: 3 }));
  const [first, second] = [run(rig, 1), run(rig, 1)];
  expect(named(second, 'work0').placed).toBe(false);
  for (const end of [exited(1), gone]) rig.see(named(first, 'work0'), end);
  expect(named(second, 'work0').placed).toBe(true);
});
