import { expect, test } from 'vitest';
import { markDisconnected } from '../../../../control-plane/core/hosts/host-liveness.ts';
import { application, service } from '../../../support/fixtures/applications.ts';
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

test('C125: a host that fell silent while the clock was days ahead is lost as soon as any other', () => {
  const rig = new CoreRig();
  const host = rig.hello(hostFacts('one'));
  rig.turn();
  rig.advance(DAY_MS);
  host.connected = false;
  markDisconnected(rig.cluster, host);
  expect(decisionTexts(rig.advance(-DAY_MS))).toEqual([]);
  expect(decisionTexts(rig.advance(LOST_MS - 1))).toEqual([]);
  expect(decisionTexts(rig.advance(1))).toEqual(['lose-host one']);
});
