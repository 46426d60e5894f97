import { expect, test } from 'vitest';
import { changeTimeLimit } from '../../../../control-plane/core/lifecycle/state-transitions.ts';
import { explain } from '../../../../control-plane/core/views/explanation.ts';
import { application, service } from '../../../support/fixtures/applications.ts';
import {
  CoreRig,
  exited,
  failed,
  gone,
  hostFacts,
  quota,
  running,
  startingRig,
} from '../../../support/rigs/core-rig.ts';

const one = application(service());
const MESSAGE = 'stopped: its time limit of 60 s, counted from its placement, was over';

/** An execution with this time limit, placed on one host. */
const placed = (timeLimitS?: number) => startingRig(one, new CoreRig(), timeLimitS);

test('C270: an execution ends as error when its time limit is over, once its containers are gone, and the explanation states when', () => {
  const { rig, execution, web } = placed(60);
  rig.advance(10_000);
  rig.see(web, running);
  expect(explain(rig.cluster, execution, rig.nowMs).summary).toBe(
    'All its essential services have started. Its time limit of 60 s, counted from its placement, is over in 50 s.',
  );
  expect(rig.cluster.deadlines.next()).toBe((execution.timePlaceMs ?? 0) + 60_000);
  expect(rig.advance(49_999)).toEqual([]);
  expect(rig.advance(1)).toEqual(['begin-cleanup 1 error', 'stop web0.1']);
  expect(rig.advance(1)).toEqual([]);
  expect(rig.see(web, gone)).toEqual(['finish 1 error']);
  expect(execution).toMatchObject({ status: 'error', errorMessage: MESSAGE });
  expect(rig.cluster.usage(1).executions).toBe(0);
});

test('C270: the time in the queue does not count, a start does, and it counts anew after a return to the queue', () => {
  const rig = new CoreRig();
  const execution = rig.submit(one, 1, 60);
  expect(rig.advance(100_000)).toEqual([]);
  rig.join(hostFacts('one'));
  expect(execution.status).toBe('starting');
  expect(rig.advance(60_000)).toEqual(['begin-cleanup 1 error', 'stop web0.1']);
  const again = placed(60);
  again.rig.advance(50_000);
  again.rig.see(again.web, failed(true), gone);
  expect(again.execution.status).toBe('queued');
  again.rig.advance(1_000);
  expect(again.execution.status).toBe('starting');
  expect(again.rig.advance(59_999)).toEqual([]);
  expect(again.rig.advance(1)).toContain('begin-cleanup 1 error');
});

test('C270: what a service has done counts before the time limit, and an end that was decided stays', () => {
  const { rig, execution, web } = placed(60);
  rig.see(web, running);
  rig.nowMs += 60_000;
  rig.see(web, exited(0), gone);
  expect(execution.status).toBe('terminated');
  const other = placed(60);
  other.rig.terminate(other.execution);
  expect(other.rig.advance(60_000)).toEqual([]);
  expect(other.execution.ending?.status).toBe('terminated');
});

test('C270: after the clock was set back, nothing lasts longer than if it had been placed then', () => {
  const { rig, execution } = placed(60);
  rig.turn();
  rig.nowMs -= 500_000;
  rig.turn();
  expect(rig.advance(59_999)).toEqual([]);
  expect(rig.advance(1)).toContain('begin-cleanup 1 error');
  expect(execution.status).toBe('cleaning up');
});

test.each([
  [{}, undefined, null],
  [{ timeLimitS: 50 }, undefined, 50],
  [{ maxTimeLimitS: 70 }, undefined, 70],
  [{ timeLimitS: 90, maxTimeLimitS: 70 }, undefined, 70],
  [{ timeLimitS: 50, maxTimeLimitS: 70 }, 70, 70],
])('C271: with the quota %j, an execution that states %s has the limit %s', (limits, wanted, limit) => {
  const rig = new CoreRig();
  rig.cluster.setQuota(quota(1, limits));
  expect(rig.submit(one, 1, wanted).timeLimitS).toBe(limit);
});

test('C271: a submission beyond the longest limit of the quota is refused, and uses up no id', () => {
  const rig = new CoreRig();
  rig.cluster.setQuota(quota(1, { maxTimeLimitS: 70 }));
  expect(() => rig.submit(one, 1, 71)).toThrow(
    'Your quota allows a time_limit of at most 70 s, not a time_limit of 71 s.',
  );
  expect(rig.submit(one, 1, 70).id).toBe(1);
});

test('C272: a longer limit counts from the placement, and a shorter one that is over ends it at once', () => {
  const { rig, execution, web } = placed(60);
  rig.see(web, running);
  rig.advance(30_000);
  changeTimeLimit(rig.cluster, execution, 100, quota(1));
  rig.turn();
  expect(rig.advance(69_999)).toEqual([]);
  changeTimeLimit(rig.cluster, execution, 60, quota(1));
  expect(rig.turn()).toContain('begin-cleanup 1 error');
  expect(execution.ending?.message).toBe(MESSAGE);
});

test('C272: a limit can be removed, within the quota only', () => {
  const { rig, execution } = placed(60);
  const bounded = quota(1, { maxTimeLimitS: 70 });
  expect(() => changeTimeLimit(rig.cluster, execution, null, bounded)).toThrow('not no time limit');
  expect(() => changeTimeLimit(rig.cluster, execution, 71, bounded)).toThrow('at most 70 s');
  changeTimeLimit(rig.cluster, execution, null, undefined);
  rig.turn();
  expect(rig.advance(1_000_000)).toEqual([]);
});
