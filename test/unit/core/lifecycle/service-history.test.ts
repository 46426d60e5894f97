import { expect, test } from 'vitest';
import {
  confirmLease,
  leaseFor,
  livenessDeadlineMs,
  markDisconnected,
} from '../../../../control-plane/core/hosts/host-liveness.ts';
import type { Host } from '../../../../control-plane/core/model/host.ts';
import { MAX_STARTS } from '../../../../control-plane/core/model/service-history.ts';
import { application, service } from '../../../support/fixtures/applications.ts';
import {
  CoreRig,
  exited,
  failed,
  gone,
  hostFacts,
  type Life,
  named,
  pairWith,
  running,
  runningRig,
  startingRig,
} from '../../../support/rigs/core-rig.ts';

const START_MS = 1_000_000_000;

test('C340: a start has its host and its times, and how it ended; the end before a restart is kept', () => {
  const { rig, execution, side: one } = startingRig();
  const begun = { generation: 1, host: 'one', startMs: START_MS, runMs: null, endMs: null };
  expect(one.history).toMatchObject([{ ...begun, exitCode: null, reason: null }]);
  rig.advance(2_000);
  for (const each of execution.services) rig.see(each, running);
  rig.see(one, running);
  rig.advance(3_000);
  rig.see(one, exited(137, true));
  rig.advance(500);
  rig.see(one, gone);
  const first = { ...begun, runMs: START_MS + 2_000, endMs: START_MS + 5_000 };
  expect(one.history).toMatchObject([{ ...first, exitCode: 137, outOfMemory: true, reason: null }]);
  expect(one.restartAtMs).not.toBeNull();
  rig.advance(60_000);
  expect(one.history).toMatchObject([first, { generation: 2, startMs: rig.nowMs, endMs: null }]);
  rig.see(one, failed(true, 'the pull failed'));
  expect(one.history.at(-1)).toMatchObject({ endMs: rig.nowMs, runMs: null, reason: 'the pull failed' });
  expect(one.history.some(({ hasEndedExecution }) => hasEndedExecution)).toBe(false);
});

test('C340: the last 20 starts are kept, and a reason is cut', () => {
  const { rig, side: one } = runningRig(pairWith({ restart: { attempts: 100, delay: 1, window: 60 } }));
  for (let death = 0; death < MAX_STARTS + 5; death++) {
    rig.see(one, failed(true, 'x'.repeat(2_000)), gone);
    // The longest pause before a start is tried again.
    rig.advance(60_000);
  }
  expect(one.generation).toBe(MAX_STARTS + 6);
  expect(one.history.map(({ generation }) => generation)).toEqual(
    Array.from({ length: MAX_STARTS }, (_, at) => at + 7),
  );
  expect(one.history[0]?.reason?.length).toBe(300);
});

test('C341: the start whose end decided that of the execution is marked, and no other', () => {
  const causes = ({ execution }: Life) =>
    execution.services
      .filter(({ history }) => history.some((start) => start.hasEndedExecution))
      .map(({ name }) => name);
  const end = (act: (lives: Life) => void) => {
    const lives = runningRig();
    act(lives);
    for (const one of lives.execution.services) lives.rig.see(one, gone);
    return lives;
  };
  for (const code of [0, 3]) {
    const lives = end(({ rig, web }) => rig.see(web, exited(code)));
    expect(causes(lives)).toEqual(['web0']);
    expect(lives.side.history.at(-1)?.reason).toBe('stopped with its execution');
  }
  const broken = end(({ rig, side }) => {
    rig.see(side, exited(1), gone);
    rig.advance(60_000);
    rig.see(side, failed(false, 'no such image'));
  });
  expect(causes(broken)).toEqual(['side0']);
  expect(broken.side.history.map((start) => start.hasEndedExecution)).toEqual([false, true]);
  expect(causes(end(({ rig, execution }) => rig.terminate(execution)))).toEqual([]);
  const limited = end(({ rig, execution }) => {
    execution.timeLimitS = 5;
    rig.cluster.touch(execution);
    rig.advance(6_000);
  });
  expect(causes(limited)).toEqual([]);
});

test('C340: a start that Berth has stopped has the reason: drain, lost, removed or preempted', () => {
  const elastic = application(service({ total_count: 2, essential_count: 1 }));
  const reasonAfter = (act: (rig: CoreRig, lives: Life) => void) => {
    const lives = runningRig(elastic);
    act(lives.rig, lives);
    return lives.execution.services.map(({ history }) => history[0]?.reason ?? null);
  };
  const host = ({ cluster }: CoreRig) => [...cluster.hosts.values()][0] as Host;
  expect(
    reasonAfter((rig, { execution }) => {
      rig.change(host(rig), { schedulable: false });
      rig.see(named(execution, 'web1'), gone);
    }),
  ).toEqual([null, 'stopped: host one is drained']);
  expect(
    reasonAfter((rig, { execution }) => {
      rig.change(host(rig), { schedulable: false, force: true });
      for (const one of execution.services) rig.see(one, exited(143));
    }),
  ).toEqual(['stopped: host one is drained', 'stopped: host one is drained']);
  expect(
    reasonAfter((rig) => {
      const lost = host(rig);
      rig.hello(hostFacts('another'));
      confirmLease(rig.cluster, lost, leaseFor(rig.cluster));
      rig.disconnect(lost);
      markDisconnected(rig.cluster, lost);
      for (let step = 0; step < 2; step++) rig.advance(livenessDeadlineMs(rig.cluster, lost) - rig.nowMs);
    }),
  ).toEqual(['host one was lost', 'host one was lost']);
  expect(reasonAfter((rig) => void rig.removeHost(host(rig)))).toEqual([
    'host one was removed',
    'host one was removed',
  ]);
  const rig = new CoreRig();
  rig.hello(hostFacts('one', { cores: 2, memoryBytes: 2 ** 31 }));
  const half = { memory: { min: 2 ** 30, max: 2 ** 30 }, cores: { min: 1, max: 1 } };
  const owner = rig.submitInTurn(
    application(service({ total_count: 2, essential_count: 1, resources: half })),
  );
  for (const one of owner.services) rig.see(one, running);
  rig.submitInTurn(application(service({ resources: half })), 2);
  rig.see(named(owner, 'web1'), exited(143));
  expect(named(owner, 'web1').history[0]).toMatchObject({
    reason: 'preempted for an execution that waited',
    exitCode: 143,
  });
});
