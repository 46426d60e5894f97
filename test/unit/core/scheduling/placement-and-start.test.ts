import { expect, test } from 'vitest';
import { application, needs, service } from '../../../support/fixtures/applications.ts';
import {
  CoreRig,
  exited,
  failed,
  gone,
  hostFacts,
  named,
  pairWith,
  running,
  startingRig,
} from '../../../support/rigs/core-rig.ts';

function rigWithHost(facts = hostFacts('one')): CoreRig {
  const rig = new CoreRig();
  rig.join(facts);
  return rig;
}

test('C1, C3: an execution is queued when it is submitted, and starts in the same turn if it fits; null reserves no memory and a tenth of a core', () => {
  const rig = rigWithHost();
  const execution = rig.submit();
  expect(execution).toMatchObject({ status: 'queued', timeSubmitMs: rig.nowMs, timeStartMs: null });
  expect(rig.turn()).toEqual(['place web0@one', 'start web0.1']);
  expect(execution.status).toBe('starting');
  expect(rig.cluster.hostNamed('one')).toMatchObject({ reservedCores: 0.1, reservedMemoryBytes: 0 });
});
test('C5: executions wait without a host; when one joins, the oldest is first, and those that fit pass one that does not', () => {
  const rig = new CoreRig();
  const sized = (cores: number) => rig.submit(application(service({ resources: needs(null, cores) })));
  const [big, first, second, third] = [sized(9), sized(2), sized(2), sized(2)];
  expect(rig.turn()).toEqual([]);
  rig.join(hostFacts('one', { cores: 4 }));
  expect([big, first, second, third].map(({ status }) => status)).toEqual([
    'queued',
    'starting',
    'starting',
    'queued',
  ]);
});
test('C5: freed capacity goes to the oldest execution that fits', () => {
  const rig = rigWithHost(hostFacts('one', { cores: 1 }));
  const whole = () => rig.submit(application(service({ resources: needs(null, 1) })));
  const [first, second, third] = [whole(), whole(), whole()];
  rig.turn();
  rig.see(named(first, 'web0'), running, exited(0), gone);
  expect([first, second, third].map(({ status }) => status)).toEqual(['terminated', 'starting', 'queued']);
});

const tiers = application(
  service({ name: 'app', startup_order: 1, monitor: true }),
  service({ name: 'dbs', total_count: 2, essential_count: 2, startup_order: 0, monitor: false }),
  service({ name: 'web', startup_order: 5, monitor: false }),
);
test('C7: a higher startup_order waits until all essential services of lower ones have started', () => {
  const rig = rigWithHost();
  const execution = rig.submit(tiers);
  expect(rig.turn().slice(1)).toEqual(['start dbs0.1', 'start dbs1.1']);
  expect(rig.see(named(execution, 'dbs0'), running)).toEqual([]);
  expect(rig.see(named(execution, 'dbs1'), running)).toEqual(['start app0.1']);
  expect(rig.see(named(execution, 'app0'), running)).toEqual(['start web0.1']);
  expect(execution.status).toBe('starting');
});
test('C8: an execution is running, with a start time, when every essential service has started', () => {
  const { rig, execution, web } = startingRig(
    application(service({ total_count: 2, essential_count: 2 }), service({ name: 'idle' })),
  );
  rig.see(web, running);
  rig.see(named(execution, 'web1'), running);
  expect(execution).toMatchObject({ status: 'starting', timePlaceMs: rig.nowMs, timeStartMs: null });
  rig.nowMs += 5;
  expect(rig.see(named(execution, 'idle0'), running)).toEqual(['mark-running 1']);
  expect(execution).toMatchObject({ status: 'running', timeStartMs: rig.nowMs, timeEndMs: null });
});
test('C8: a service has the state that its agent reported', () => {
  const { rig, web } = startingRig(application());
  expect(web).toMatchObject({ status: 'starting', backendStatus: 'undefined' });
  rig.see(web, { state: 'preparing', detail: 'pulling' }, { state: 'created', containerId: 'c' });
  expect(web).toMatchObject({ status: 'starting', backendStatus: 'created', containerId: 'c' });
  rig.see(web, { ...running, ports: [{ port: 80, protocol: 'tcp', hostPort: 32768 }] } as typeof running);
  expect(web).toMatchObject({ status: 'active', backendStatus: 'started', ipAddress: '10.0.0.2' });
  expect(web.ports).toEqual([{ port: 80, protocol: 'tcp', hostPort: 32768 }]);
  rig.see(web, exited(0));
  expect(web).toMatchObject({ status: 'terminating', backendStatus: 'dead' });
  rig.see(web, gone);
  expect(web).toMatchObject({ status: 'inactive', backendStatus: 'destroyed' });
});
test('C12: a permanent failure ends the execution as error, with the message of the engine', () => {
  const { rig, execution, web } = startingRig(pairWith({ startup_order: 1 }));
  const failure = failed(false, 'No such image: nope:1');
  expect(rig.see(web, failure)).toEqual(['begin-cleanup 1 error', 'stop web0.1']);
  expect(execution.status).toBe('cleaning up');
  rig.see(web, gone);
  expect(execution).toMatchObject({
    status: 'error',
    errorMessage: 'service web0: No such image: nope:1',
    timeEndMs: rig.nowMs,
  });
});
test('C13: a temporary failure returns the execution to the queue, with a growing delay', () => {
  const { rig, execution, web } = startingRig(
    application(service({ monitor: false }), service({ name: 'other', startup_order: 1 })),
  );
  const other = named(execution, 'other0');
  for (const delayMs of [1_000, 2_000, 4_000]) {
    rig.see(web, running);
    expect(rig.see(other, failed(true, 'busy'))).toEqual([
      'begin-cleanup 1 queued',
      `stop web0.${web.generation}`,
      `stop other0.${other.generation}`,
    ]);
    expect(execution.status).toBe('starting');
    rig.see(web, gone);
    expect(rig.see(other, gone)).toEqual(['finish 1 queued']);
    expect(execution).toMatchObject({ status: 'queued', ending: null, errorMessage: null });
    expect(rig.cluster.hostNamed('one')?.reservedCores).toBe(0);
    expect(rig.advance(delayMs - 1)).toEqual([]);
    expect(rig.advance(1)).toEqual(['place web0@one other0@one', `start web0.${web.generation}`]);
  }
});
test('C13: the next attempt keeps the start-up order, whichever service died in the previous one', () => {
  const { rig, execution, web } = startingRig(
    application(
      service({ name: 'dbs', monitor: false }),
      service({ name: 'app', monitor: false, startup_order: 1 }),
      service({ name: 'web', startup_order: 2 }),
    ),
  );
  const [dbs, app] = [named(execution, 'dbs0'), named(execution, 'app0')];
  rig.see(dbs, running);
  rig.see(app, running, exited(1), gone);
  rig.see(web, failed(true), gone);
  rig.see(dbs, gone);
  expect(rig.advance(60_000)).toEqual(['place dbs0@one app0@one web0@one', 'start dbs0.2']);
});

const elastic = application(
  service({ total_count: 3, essential_count: 1, monitor: true, resources: needs(null, 1) }),
);
test('C16: elastic services are placed once the execution runs, as many as fit', () => {
  const rig = rigWithHost(hostFacts('one', { cores: 2 }));
  const execution = rig.submit(elastic);
  expect(rig.turn()).toEqual(['place web0@one', 'start web0.1']);
  expect(rig.see(named(execution, 'web0'), running)).toEqual([
    'mark-running 1',
    'place web1@one',
    'start web1.1',
  ]);
  expect(rig.join(hostFacts('two', { cores: 1 }))).toEqual(['place web2@two', 'start web2.1']);
});
test('C16: elastic services come after every queued execution that fits', () => {
  const rig = rigWithHost(hostFacts('one', { cores: 2 }));
  const execution = rig.submitInTurn(elastic);
  const other = rig.submitInTurn(application(service({ resources: needs(null, 1) })));
  rig.see(named(execution, 'web0'), running);
  expect(other.status).toBe('starting');
  expect(execution.services.map(({ placed }) => placed)).toEqual([true, false, false]);
});
