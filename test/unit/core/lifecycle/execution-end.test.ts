import { expect, test } from 'vitest';
import { application } from '../../../support/fixtures/applications.ts';
import {
  CoreRig,
  exited,
  failed,
  gone,
  type Life,
  named,
  pair,
  pairWith,
  queuedIds,
  running,
  runningRig,
  startingRig,
} from '../../../support/rigs/core-rig.ts';

test('C246: no time of an execution is before an earlier one, although the clock is set back', () => {
  const { rig, execution, web, side } = startingRig(pair);
  rig.nowMs -= 5_000;
  for (const one of execution.services) rig.see(one, running);
  expect(execution).toMatchObject({ status: 'running', timeStartMs: execution.timeSubmitMs });
  rig.nowMs -= 5_000;
  rig.see(web, exited(0));
  rig.see(side, gone);
  rig.see(web, gone);
  expect(execution).toMatchObject({ status: 'terminated', timeEndMs: execution.timeSubmitMs });
});

test('C9: an exit with 0 stops the other services, and ends as terminated once their containers are gone', () => {
  const { rig, execution, web, side } = runningRig();
  expect(rig.see(web, exited(0))).toEqual(['begin-cleanup 1 terminated', 'stop web0.1', 'stop side0.1']);
  const timeStopMs = rig.nowMs;
  expect(execution).toMatchObject({ status: 'cleaning up', timeStopMs, timeEndMs: null });
  rig.see(web, gone);
  expect(execution.status).toBe('cleaning up');
  rig.nowMs += 9;
  expect(rig.see(side, gone)).toEqual(['finish 1 terminated']);
  expect(execution).toMatchObject({
    status: 'terminated',
    errorMessage: null,
    timeStopMs,
    timeEndMs: rig.nowMs,
  });
  expect(rig.cluster.executions.size).toBe(0);
});
test('C9: an exit with 0 during the start waits for the other services, and is not followed by a restart', () => {
  const { rig, execution, web, side } = startingRig(pairWith({ monitor: true, startup_order: 1 }));
  rig.see(web, running);
  expect(rig.see(web, exited(0))).toEqual(['stop web0.1']);
  expect(rig.see(web, gone)).toEqual([]);
  expect(execution.status).toBe('starting');
  expect(rig.see(side, running)).toEqual(['mark-running 1', 'begin-cleanup 1 terminated', 'stop side0.1']);
  rig.see(side, gone);
  expect(execution).toMatchObject({ status: 'terminated', timeStartMs: rig.nowMs });
});
test.each([
  [exited(3), 'service web0 ended with exit code 3'],
  [exited(137), 'service web0 ended with exit code 137 (killed by SIGKILL, perhaps out of memory)'],
  [exited(137, true), 'service web0 ended with exit code 137 (out of memory)'],
  [{ ...exited(137), memoryKill: 'none' }, 'service web0 ended with exit code 137 (killed by SIGKILL)'],
  [
    { ...exited(1), memoryKill: 'other-process' },
    'service web0 ended with exit code 1 (one of its processes was killed for lack of memory before)',
  ],
  [
    { ...exited(137), memoryKill: 'other-process' },
    'service web0 ended with exit code 137 (killed by SIGKILL, one of its processes was killed for lack of memory before)',
  ],
  [exited(143), 'service web0 ended with exit code 143 (killed by SIGTERM)'],
  [gone, 'the container of service web0 was removed from outside Berth'],
] as const)('C10, H820: after %j the execution ends as error: %s', (seen, message) => {
  const { rig, execution, web } = runningRig();
  rig.see(web, seen);
  expect(execution.status).toBe('cleaning up');
  for (const one of execution.services) rig.see(one, gone);
  expect(execution).toMatchObject({ status: 'error', errorMessage: message, timeEndMs: rig.nowMs });
});
test('C10: a bad exit while others still start ends the execution at once, which has started if all its services have, even if one failed before that was seen', () => {
  const { rig, execution, web } = startingRig(pair);
  expect(rig.see(web, exited(1))).toEqual(['begin-cleanup 1 error', 'stop web0.1', 'stop side0.1']);
  expect(execution.timeStartMs).toBeNull();
  const single = startingRig(application());
  expect(single.rig.see(single.web, exited(1))).toEqual([
    'mark-running 1',
    'begin-cleanup 1 error',
    'stop web0.1',
  ]);
  expect(single.execution.timeStartMs).toBe(single.rig.nowMs);
});

test.each([
  ['services that do not monitor', pair],
  ['services whose restart policy has no delay', pairWith({ restart: { attempts: 9 } })],
])(
  'C11, C284: %s are restarted on their host with a growing delay, as a new generation',
  (_, description) => {
    const { rig, execution, side } = runningRig(description);
    for (const [at, delayMs] of [1_000, 2_000, 4_000].entries()) {
      expect(rig.see(side, exited(at))).toEqual([`stop side0.${at + 1}`]);
      expect(rig.see(side, gone)).toEqual([`replace-service side0.${at + 1}`]);
      expect(rig.advance(delayMs - 1)).toEqual([]);
      expect(rig.advance(1)).toEqual([`start side0.${at + 2}`]);
      rig.see(side, running);
    }
    expect(execution.status).toBe('running');
    expect(side).toMatchObject({ status: 'active', errorMessage: null });
  },
);
function die({ rig, side }: Life, exitCode: number): void {
  rig.see(side, exited(exitCode), gone);
  rig.advance(60_000);
  rig.see(side, running);
}
test('C11: services that do not monitor may die five times in ten minutes; the sixth death ends the execution as error', () => {
  const life = runningRig();
  const { rig, execution, side } = life;
  for (let death = 1; death <= 5; death++) die(life, death);
  expect(execution.status).toBe('running');
  rig.see(side, exited(6));
  expect(execution.ending).toEqual({
    status: 'error',
    message:
      'service side0 died more than 5 times in 10 minutes; the last time: service side0 ended with exit code 6',
  });
});
test('C11: services that do not monitor do not count deaths older than ten minutes, and keep no record of them', () => {
  const life = runningRig();
  for (let death = 1; death <= 20; death++) {
    die(life, 1);
    life.rig.advance(2 * 60_000);
  }
  expect(life.execution.status).toBe('running');
  expect(life.side.deathsMs.length).toBeLessThanOrEqual(5);
});
test('C13, H822: a restart that fails temporarily is tried again ever later, however often, and is not a death', () => {
  for (const description of [pair, pairWith({ restart: { attempts: 0, window: 60, delay: 0 } })]) {
    const { rig, execution, side } = runningRig(description);
    const waitsS: number[] = [];
    const fail = () => {
      rig.see(side, failed(true, 'pulling a: no such host'), gone);
      waitsS.push(((side.restartAtMs ?? 0) - rig.nowMs) / 1_000);
      rig.advance(60_000);
    };
    for (let attempt = 1; attempt <= 8; attempt++) fail();
    expect(waitsS).toEqual([1, 2, 4, 8, 16, 32, 60, 60]);
    expect([execution.status, side.deathsMs]).toEqual(['running', []]);
    rig.see(side, running);
    expect(side).toMatchObject({ status: 'active', errorMessage: null });
    fail();
    expect(waitsS.at(-1)).toBe(1);
  }
});
test('C12: a restart that fails permanently ends the execution as error', () => {
  const { rig, execution, side } = runningRig();
  rig.see(side, failed(false, 'No such image'));
  expect(execution.ending).toEqual({ status: 'error', message: 'service side0: No such image' });
});
test('C216: a running service that its host ended for good ends the execution, even an elastic one', () => {
  for (const [description, name] of [
    [pair, 'web0'] as const,
    [pairWith({ essential_count: 0 }), 'side0'] as const,
  ]) {
    const { rig, execution } = runningRig(description);
    const one = named(execution, name);
    expect(one.backendStatus).toBe('started');
    const reason = 'ended by its host, whose disk was nearly full';
    rig.see(one, failed(false, reason));
    expect(execution.ending).toEqual({ status: 'error', message: `service ${name}: ${reason}` });
    expect(one).toMatchObject({ status: 'terminating', errorMessage: reason });
    for (const { generation } of execution.services) expect(generation).toBe(1);
  }
});

test('C14: terminate ends a queued execution at once, and leaves no deadline of one that waits for its next attempt', () => {
  const rig = new CoreRig();
  const execution = rig.submitInTurn();
  expect(rig.terminate(execution)).toEqual(['finish 1 terminated']);
  expect(execution).toMatchObject({ status: 'terminated', timeStartMs: null, timeEndMs: rig.nowMs });
  expect(queuedIds(rig.cluster)).toEqual([]);
  expect(rig.cluster.executions.size).toBe(0);
  const failing = startingRig(application());
  failing.rig.see(failing.web, failed(true), gone);
  expect(failing.execution.status).toBe('queued');
  failing.rig.terminate(failing.execution);
  expect(failing.execution.status).toBe('terminated');
  expect(failing.rig.cluster.deadlines.next()).toBeNull();
});
test('C14: terminate stops the started services of an execution that is starting, and no more are started', () => {
  const { rig, execution, web } = startingRig(pairWith({ monitor: true, startup_order: 1 }));
  expect(rig.terminate(execution)).toEqual(['stop web0.1']);
  expect(execution).toMatchObject({ status: 'cleaning up' });
  expect(rig.see(web, running)).toEqual([]);
  expect(rig.see(web, gone)).toEqual(['finish 1 terminated']);
  expect(execution).toMatchObject({ status: 'terminated', timeStartMs: null });
  expect(rig.cluster.hostNamed('one')?.reservedCores).toBe(0);
});
test('C14, C19: terminate stops all services of a running execution, which counts neither as a death nor as an error', () => {
  const { rig, execution } = runningRig();
  expect(rig.terminate(execution)).toEqual(['stop web0.1', 'stop side0.1']);
  for (const one of execution.services) {
    rig.see(one, exited(143), gone);
    expect(one).toMatchObject({ status: 'inactive', errorMessage: null, deathsMs: [] });
  }
  expect(execution).toMatchObject({ status: 'terminated', errorMessage: null });
});
test('C14: terminate ends a failed start that is being cleaned up, which is not tried again', () => {
  const { rig, execution, web } = startingRig(application());
  rig.see(web, failed(true));
  expect(rig.terminate(execution)).toEqual([]);
  expect(execution.status).toBe('cleaning up');
  rig.see(web, gone);
  expect(execution.status).toBe('terminated');
});
test('C14: terminate does not change an end that was decided before', () => {
  const { rig, execution, web } = runningRig();
  rig.see(web, exited(3));
  rig.terminate(execution);
  for (const one of execution.services) rig.see(one, gone);
  expect(execution.status).toBe('error');
});
