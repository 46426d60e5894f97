import { expect, test } from 'vitest';
import { observe } from '../../../../control-plane/core/lifecycle/observations.ts';
import { explain } from '../../../../control-plane/core/views/explanation.ts';
import type { Health } from '../../../../shared/protocol/health.ts';
import { application, service } from '../../../support/fixtures/applications.ts';
import { exited, gone, keyOfService, named, running, startingRig } from '../../../support/rigs/core-rig.ts';

const health = { http: { path: '/', port: 80 } };
const seen = (state: Health['state'], detail = '') => ({ ...running, health: { state, detail } });
const side = service({ name: 'side', monitor: false, health });
const pair = application(service({ startup_order: 1 }), side);

test('C288: a service whose health is checked is starting until it is healthy, also if checks begin anew, as after a restart of its agent, and those that start later wait for it', () => {
  const { rig, execution, web, side: one } = startingRig(pair);
  expect(rig.see(one, seen('starting'))).toEqual([]);
  expect(one).toMatchObject({ status: 'starting', backendStatus: 'started' });
  expect(rig.see(one, seen('healthy'))).toEqual(['start web0.1']);
  rig.see(one, seen('starting'));
  expect(one.status).toBe('active');
  expect(execution.status).toBe('starting');
  rig.see(web, running);
  expect(execution.status).toBe('running');
});

test('C288: a service that has died before it was healthy has not started, unless it is a monitor that exited with 0', () => {
  const { rig, web, side: one } = startingRig(pair);
  rig.see(one, seen('starting'), exited(1));
  expect(rig.see(one, gone)).toEqual(['replace-service side0.1']);
  expect(rig.advance(1_000)).toEqual(['start side0.2']);
  expect(web.status).toBe('inactive');

  const job = startingRig(application(service({ health })));
  job.rig.see(job.web, exited(0));
  job.rig.see(job.web, gone);
  expect(job.execution.status).toBe('terminated');
});

test('C289, C290: an unhealthy service has died: it is not active until it is healthy again, but stopped at once, and started again by the rules of other deaths', () => {
  const { rig, execution, web, side: one } = startingRig(pair);
  rig.see(one, seen('healthy'));
  rig.see(web, running);
  for (let death = 1; death <= 6; death++) {
    expect(rig.see(one, seen('unhealthy', 'GET / on port 80: status 500'))).toContain(`stop side0.${death}`);
    expect(one.status).toBe('terminating');
    rig.see(one, seen('healthy'));
    expect(one).toMatchObject({
      status: 'terminating',
      errorMessage: 'service side0 was unhealthy: GET / on port 80: status 500',
    });
    rig.see(one, exited(143), gone);
    if (death === 6) break;
    rig.advance(60_000);
    rig.see(one, seen('starting'));
    expect(one).toMatchObject({ status: 'starting', generation: death + 1 });
    rig.see(one, seen('healthy'));
    expect(one.status).toBe('active');
  }
  expect(execution.ending).toEqual({
    status: 'error',
    message:
      'service side0 died more than 5 times in 10 minutes; the last time: service side0 was unhealthy: GET / on port 80: status 500',
  });
});

test('C289: an unhealthy monitor ends the execution as error, unless its restart policy lets it start again', () => {
  const { rig, execution } = startingRig(application(service({ health })));
  rig.see(named(execution, 'web0'), seen('unhealthy', 'no answer within 5 s'));
  expect(execution.ending).toEqual({
    status: 'error',
    message: 'service web0 was unhealthy: no answer within 5 s',
  });
  const again = startingRig(application(service({ health, restart: { attempts: 1 } })));
  const web = again.web;
  expect(again.rig.see(web, seen('unhealthy', 'no answer'))).toEqual(['stop web0.1']);
  again.rig.see(web, gone);
  expect(again.rig.advance(1_000)).toEqual(['start web0.2']);
});

test('C289: a repeated report of the same health is no change, nor what a host reports of the health of a service that was stopped or is not checked', () => {
  const { rig, execution, web, side: one } = startingRig(pair);
  rig.see(one, seen('healthy'));
  rig.cluster.changes.services.clear();
  const again = { ...seen('healthy'), ...keyOfService(one) } as const;
  observe(rig.cluster, rig.hostOf(one), again, rig.nowMs);
  expect(rig.cluster.changes.services.size).toBe(0);
  rig.see(web, seen('unhealthy', 'of no interest'));
  expect(web).toMatchObject({ status: 'active', deathsMs: [] });
  rig.terminate(execution);
  rig.see(one, seen('unhealthy', 'late'));
  expect(one).toMatchObject({ status: 'terminating', exit: null, errorMessage: null, deathsMs: [] });
});

test('C291: an explanation has what the last check found, and why a service is restarted', () => {
  const { rig, execution, side: one } = startingRig(pair);
  const waitingFor = () => explain(rig.cluster, execution, rig.nowMs).waitingFor[1];
  rig.see(one, seen('starting'));
  expect(waitingFor()).toBe('side0: waiting until it is healthy on host one (no check has ended yet).');
  rig.see(one, seen('starting', 'port 80: connection refused'));
  expect(waitingFor()).toBe(
    'side0: waiting until it is healthy on host one (last check: port 80: connection refused).',
  );
  expect(rig.cluster.changes.progressed).toContain(one);
  rig.see(one, seen('unhealthy', 'port 80: connection refused'), gone);
  expect(waitingFor()).toBe(
    'side0: restarting in 1 s, since service side0 was unhealthy: port 80: connection refused.',
  );
});

test('C288: a service that is never healthy ends with its execution, when a user terminates that or its time is over', () => {
  const { rig, execution, side: one } = startingRig(pair);
  rig.see(one, seen('starting', 'port 80: the connection was refused'));
  expect(rig.terminate(execution)).toContain('stop side0.1');
  rig.see(one, gone);
  expect(execution.status).toBe('terminated');

  const limited = startingRig(pair);
  limited.execution.timeLimitS = 20;
  const other = limited.side;
  limited.rig.see(other, seen('starting', 'port 80: the connection was refused'));
  limited.rig.advance(20_000);
  expect(limited.execution.ending?.message).toContain('its time limit of 20 s, counted from its placement');
});

test('C289, C284: deaths of bad health count once each, whatever is reported again, and none is forgotten by a new agent', () => {
  const limited = application(service({ startup_order: 1 }), { ...side, restart: { attempts: 1, delay: 2 } });
  const { rig, execution, web, side: one } = startingRig(limited);
  rig.see(one, seen('healthy'));
  rig.see(web, running);
  for (const state of ['unhealthy', 'unhealthy', 'healthy', 'starting', 'unhealthy'] as const)
    rig.see(one, seen(state, 'bad'), exited(137), gone);
  expect(one.deathsMs).toHaveLength(1);
  expect(execution.ending).toBeNull();
  expect(rig.advance(1_999)).toEqual([]);
  expect(rig.advance(1)).toEqual(['start side0.2']);
  // A new agent begins its checks anew.
  for (const state of ['starting', 'healthy', 'starting', 'unhealthy'] as const)
    rig.see(one, seen(state, 'bad'));
  expect(one.deathsMs).toHaveLength(2);
  expect(execution.ending?.message).toContain('died more than 1 time in 10 minutes');
});
