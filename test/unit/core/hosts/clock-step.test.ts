import { expect, test } from 'vitest';
import { markDisconnected } from '../../../../control-plane/core/hosts/host-liveness.ts';
import { defaultSchedulerConfig } from '../../../../control-plane/core/model/scheduler-config.ts';
import { application, needs, service } from '../../../support/fixtures/applications.ts';
import {
  CoreRig,
  decisionTexts,
  failed,
  gone,
  hostFacts,
  named,
  running,
} from '../../../support/rigs/core-rig.ts';

const DAY_MS = 86_400_000;
const LOST_MS = 90_000;

test('C125: a start that failed while the clock was days ahead is tried again within 60 s', () => {
  const rig = new CoreRig();
  rig.hello(hostFacts('one'));
  rig.advance(DAY_MS);
  const execution = rig.submit(application(service({ name: 'web' })));
  rig.turn();
  rig.see(named(execution, 'web0'), failed(true));
  rig.see(named(execution, 'web0'), gone);
  expect(execution).toMatchObject({ status: 'queued', attempts: 1 });
  rig.advance(-DAY_MS);
  expect(execution.status).toBe('queued');
  rig.advance(60_000);
  expect(execution.status).toBe('starting');
});

test('C125: a service that died while the clock was days ahead is started again within 60 s', () => {
  const rig = new CoreRig();
  rig.hello(hostFacts('one'));
  rig.advance(DAY_MS);
  const main = service({ name: 'main', startup_order: 0 });
  const execution = rig.submit(
    application(main, service({ name: 'side', monitor: false, startup_order: 0 })),
  );
  rig.turn();
  for (const one of execution.services) rig.see(one, running);
  const side = named(execution, 'side0');
  rig.see(side, { state: 'exited', containerId: 'c', exitCode: 1, outOfMemory: false, finishedAtMs: 2 });
  rig.see(side, gone);
  expect(side).toMatchObject({ status: 'inactive', restartAtMs: rig.nowMs + 1_000 });
  rig.advance(-DAY_MS);
  expect(side.status).toBe('inactive');
  rig.advance(60_000);
  expect(side.status).toBe('starting');
});

test.each(['disconnected', 'connected'])(
  'C125: a %s host that fell silent while the clock was days ahead is lost as soon as any other',
  (connection) => {
    const rig = new CoreRig();
    const host = rig.hello(hostFacts('one'));
    rig.turn();
    rig.advance(DAY_MS);
    if (connection === 'disconnected') markDisconnected(rig.cluster, host);
    expect(decisionTexts(rig.advance(-DAY_MS, { silent: true }))).toEqual([]);
    expect(decisionTexts(rig.advance(LOST_MS - 1, { silent: true }))).toEqual([]);
    expect(decisionTexts(rig.advance(1, { silent: true }))).toEqual(['lose-host one']);
  },
);

test('C125: capacity is reserved at most 10 minutes after the clock was set back', () => {
  const rig = new CoreRig();
  rig.hello(hostFacts('one', { cores: 2 }));
  rig.advance(DAY_MS);
  rig.submit(application(service({ resources: needs(null, 1) })));
  rig.turn();
  const big = rig.submit(application(service({ resources: needs(null, 2) })));
  rig.turn();
  expect(rig.cluster.reservation).toMatchObject({ execution: big, placements: [] });
  rig.advance(-DAY_MS);
  rig.advance(defaultSchedulerConfig.backfillReserveAfterMs);
  expect(rig.cluster.reservation).toMatchObject({ execution: big, placements: [{ host: { name: 'one' } }] });
});
