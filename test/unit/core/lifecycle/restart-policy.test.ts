import { expect, test } from 'vitest';
import { isOver } from '../../../../control-plane/core/model/execution.ts';
import { explain } from '../../../../control-plane/core/views/explanation.ts';
import type { ServiceDescription } from '../../../../shared/application-schema.ts';
import { application, service } from '../../../support/fixtures/applications.ts';
import { exited, gone, pairWith, running, runningRig } from '../../../support/rigs/core-rig.ts';

/** A rig in which `side0`, which does not monitor, has this policy and runs. */
function sideRig(restart: NonNullable<ServiceDescription['restart']>, changes = {}) {
  const { rig, execution, side } = runningRig(pairWith({ restart, ...changes }));
  const die = (exitCode = 1) => rig.see(side, exited(exitCode), gone);
  return { rig, execution, side, die };
}

test('C284: a restart policy limits the deaths of a service within its window, and its delay is before each restart', () => {
  const { rig, execution, side, die } = sideRig({ attempts: 2, window: 60, delay: 7 });
  for (const generation of [1, 2]) {
    die();
    expect(rig.advance(6_999)).toEqual([]);
    expect(rig.advance(1)).toEqual([`start side0.${generation + 1}`]);
    rig.see(side, running);
  }
  die(4);
  expect(execution.ending).toEqual({
    status: 'error',
    message:
      'service side0 died more than 2 times in 1 minute; the last time: service side0 ended with exit code 4',
  });
});

test('C284: deaths before the window do not count, and no more are recorded than a policy can count', () => {
  const { rig, execution, side, die } = sideRig({ attempts: 1, window: 10, delay: 11 });
  for (let death = 1; death <= 5; death++) {
    die();
    rig.advance(11_000);
    rig.see(side, running);
  }
  expect(execution.status).toBe('running');
  const elastic = sideRig({ attempts: 1, window: 86_400, delay: 1 }, { essential_count: 0 });
  for (let death = 1; death <= 150; death++) {
    elastic.die();
    elastic.rig.advance(1_000);
    elastic.rig.see(elastic.side, running);
  }
  expect(elastic.execution.status).toBe('running');
  expect(elastic.side.deathsMs).toHaveLength(101);
});

test('C284: with no attempts the first death ends the execution, and the message names the policy', () => {
  const { execution, die } = sideRig({ attempts: 0 });
  die(3);
  expect(execution.ending?.message).toBe(
    'service side0 died, and its restart policy allows no restart: service side0 ended with exit code 3',
  );
});

test('C285: a monitor with a restart policy is started again when it fails, and its exit with 0 ends the execution', () => {
  const { rig, execution, web } = runningRig(application(service({ restart: { attempts: 2, delay: 1 } })));
  expect(rig.see(web, exited(1))).toEqual(['stop web0.1']);
  expect(isOver(execution, web)).toBe(false);
  rig.see(web, gone);
  expect(rig.advance(1_000)).toEqual(['start web0.2']);
  rig.see(web, running);
  expect(execution.status).toBe('running');
  rig.see(web, exited(0));
  expect(isOver(execution, web)).toBe(true);
  expect(execution.ending).toEqual({ status: 'terminated', message: null });
});

test('C285: a monitor that fails more often than its policy allows ends the execution as error, even an elastic one', () => {
  const elastic = { monitor: true, essential_count: 0, restart: { attempts: 1, delay: 1 } };
  const { rig, execution, side } = runningRig(pairWith(elastic));
  rig.see(side, exited(1), gone);
  rig.advance(1_000);
  rig.see(side, running, exited(1));
  expect(execution.ending?.message).toBe(
    'service side0 died more than 1 time in 10 minutes; the last time: service side0 ended with exit code 1',
  );
});

test('C286: an explanation counts the restarts of a service with a policy', () => {
  const { rig, execution, die } = sideRig({ attempts: 3, window: 7_200, delay: 30 });
  die();
  expect(explain(rig.cluster, execution, rig.nowMs).waitingFor).toEqual([
    'side0: restarting in 30 s (1 of 3 restarts in 2 hours).',
  ]);
});
