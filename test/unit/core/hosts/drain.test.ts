import { expect, test } from 'vitest';
import type { HostChanges } from '../../../../control-plane/core/hosts/drain.ts';
import { explain } from '../../../../control-plane/core/views/explanation.ts';
import { application, service } from '../../../support/fixtures/applications.ts';
import { exited, failed, gone, named, queuedIds, running } from '../../../support/rigs/core-rig.ts';
import { FORCE, hostsOf, MOVES, mixed, rigWith, run } from '../../../support/rigs/drains.ts';

const DRAIN: HostChanges = { schedulable: false };
const BACK: HostChanges = { schedulable: true };

test('C90: a drained host takes nothing new until it is schedulable again, and then takes waiting executions at once', () => {
  const { rig, hosts } = rigWith(4);
  rig.change(hosts[0], DRAIN);
  const execution = rig.submit(mixed());
  expect(rig.turn()).toEqual([]);
  expect(rig.change(hosts[0], BACK)).toEqual([
    'place main0@host0 side0@host0',
    'start main0.1',
    'start side0.1',
  ]);
  expect(execution.status).toBe('starting');
});
test('C90: elastic services leave a drained host at once, and start elsewhere when their containers are gone', () => {
  const { rig, hosts } = rigWith(4, 5);
  const execution = run(rig, mixed(2));
  const [work0, work1] = [named(execution, 'work0'), named(execution, 'work1')];
  expect(hostsOf(rig, execution)).toEqual(['host0', 'host0', 'host0', 'host0']);
  expect(rig.change(hosts[0], DRAIN)).toEqual([
    'evict work0.1',
    'stop work0.1',
    'evict work1.1',
    'stop work1.1',
  ]);
  rig.see(work0, exited(137));
  expect(rig.see(work0, gone)).toEqual(['place work0@host1', 'start work0.2']);
  expect(rig.see(work1, gone)).toEqual(['place work1@host1', 'start work1.2']);
  expect(work0).toMatchObject({ exit: null, errorMessage: null, deathsMs: [] });
  expect(execution.status).toBe('running');
});
test('C90: elastic services leave a drained host even if no other host has capacity for them', () => {
  const { rig, hosts } = rigWith(3);
  const execution = run(rig, mixed(1));
  expect(rig.change(hosts[0], DRAIN)).toEqual(['evict work0.1', 'stop work0.1']);
  expect(explain(rig.cluster, execution, rig.nowMs).waitingFor[0]).toBe(
    'work0: leaving host host0, which is drained.',
  );
  rig.see(named(execution, 'work0'), gone);
  expect(hostsOf(rig, execution)).toEqual(['host0', 'host0', null]);
  expect(execution.status).toBe('running');
});
test('C90: an elastic service that died on a drained host starts elsewhere after its delay', () => {
  const { rig, hosts } = rigWith(3, 3);
  const execution = run(rig, mixed(1));
  const work = named(execution, 'work0');
  rig.see(work, exited(1));
  rig.change(hosts[0], DRAIN);
  rig.see(work, gone);
  expect(rig.advance(1_000)).toEqual(['place work0@host1', 'start work0.2']);
  expect(work.deathsMs).toHaveLength(1);
});
test('C91: a drained host keeps its essential services, including those not started yet or restarted after a death', () => {
  const { rig, hosts } = rigWith(4, 4);
  const ordered = application(
    service({ name: 'main', startup_order: 2 }),
    service({ name: 'side', monitor: false }),
  );
  const execution = rig.submitInTurn(ordered);
  expect(rig.change(hosts[0], DRAIN)).toEqual([]);
  const side = named(execution, 'side0');
  expect(rig.see(side, running)).toEqual(['start main0.1']);
  rig.see(named(execution, 'main0'), running);
  rig.see(side, exited(1), gone);
  expect(rig.advance(1_000)).toEqual(['start side0.2']);
  expect(hostsOf(rig, execution)).toEqual(['host0', 'host0']);
});
test('C91: a start that fails temporarily on a drained host is tried again elsewhere', () => {
  const { rig, hosts } = rigWith(4, 4);
  const execution = rig.submitInTurn(mixed());
  rig.change(hosts[0], DRAIN);
  rig.see(named(execution, 'main0'), failed(true));
  for (const one of execution.services) rig.see(one, gone);
  rig.advance(1_000);
  expect(hostsOf(rig, execution)).toEqual(['host1', 'host1']);
});

test('C92: executions on a host drained by force return to the queue when all their containers are gone, and start elsewhere at once', () => {
  const { rig, hosts } = rigWith(4, 4);
  const execution = run(rig);
  expect(rig.change(hosts[0], FORCE)).toEqual(['stop main0.1', 'stop side0.1']);
  expect(execution.status).toBe('running');
  expect(explain(rig.cluster, execution, rig.nowMs).summary).toBe(
    'It moves (host host0 is drained): it goes back to the queue when its containers are gone.',
  );
  rig.see(named(execution, 'main0'), exited(143));
  expect(rig.see(named(execution, 'main0'), gone)).toEqual([]);
  expect(rig.see(named(execution, 'side0'), gone)).toEqual(MOVES);
  expect(execution).toMatchObject({ status: 'starting', attempts: 0, timeStartMs: null, ending: null });
  for (const one of execution.services) rig.see(one, running);
  expect(execution).toMatchObject({ status: 'running', timeStartMs: rig.nowMs });
});
test('C92: executions on a host drained by force wait in their old place if no other host has capacity, without a delay', () => {
  const { rig, hosts } = rigWith(2);
  const execution = run(rig);
  const later = rig.submit(mixed());
  rig.change(hosts[0], FORCE);
  for (const one of execution.services) rig.see(one, gone);
  expect(queuedIds(rig.cluster)).toEqual([execution.id, later.id]);
  expect(execution).toMatchObject({ status: 'queued', retryAtMs: null, errorMessage: null });
  rig.change(hosts[0], BACK);
  expect([execution.status, later.status]).toEqual(['starting', 'queued']);
});
test('C92: the services of a moved execution on other hosts move with it, and executions without services on the drained host stay', () => {
  const { rig, hosts } = rigWith(1, 4);
  const spread = run(rig);
  const other = run(rig);
  expect(hostsOf(rig, spread)).toEqual(['host0', 'host1']);
  expect(rig.change(hosts[0], FORCE)).toEqual(['stop main0.1', 'stop side0.1']);
  expect(other.ending).toBeNull();
});
test('C92: an end decided before stays, and a termination ends an execution that is moving', () => {
  const { rig, hosts } = rigWith(8);
  const [ending, moving] = [run(rig), run(rig)];
  rig.terminate(ending);
  rig.change(hosts[0], FORCE);
  rig.terminate(moving);
  for (const execution of [ending, moving]) {
    for (const one of execution.services) rig.see(one, gone);
    expect(execution.status).toBe('terminated');
  }
});
