import { expect, test } from 'vitest';
import { markDisconnected } from '../../../../control-plane/core/hosts/host-liveness.ts';
import { nextDeadline } from '../../../../control-plane/core/lifecycle/reconciler.ts';
import { changeTimeLimit } from '../../../../control-plane/core/lifecycle/state-transitions.ts';
import { defaultSchedulerConfig } from '../../../../control-plane/core/model/scheduler-config.ts';
import { recentDeaths } from '../../../../control-plane/core/model/service.ts';
import { application, needs, service } from '../../../support/fixtures/applications.ts';
import {
  CoreRig,
  exited,
  failed,
  gone,
  hostFacts,
  pair,
  running,
  runningRig,
  startingRig,
} from '../../../support/rigs/core-rig.ts';

const DAY_MS = 86_400_000;
const LOST_MS = 90_000;

/** A rig whose clock is days ahead. */
function rigAhead(): CoreRig {
  const rig = new CoreRig();
  rig.advance(DAY_MS);
  return rig;
}

test('C125: a start that failed while the clock was days ahead is tried again within 60 s', () => {
  const { rig, execution, web } = startingRig(application(), rigAhead());
  rig.see(web, failed(true), gone);
  expect(execution).toMatchObject({ status: 'queued', attempts: 1 });
  rig.advance(-DAY_MS);
  expect(execution.status).toBe('queued');
  rig.advance(60_000);
  expect(execution.status).toBe('starting');
});

test('C125: a service that died while the clock was days ahead is started again within 60 s', () => {
  const { rig, web, side } = startingRig(pair, rigAhead());
  for (const one of [web, side]) rig.see(one, running);
  rig.see(side, exited(1), gone);
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
    expect(rig.advance(-DAY_MS, { silent: true })).toEqual([]);
    expect(rig.advance(LOST_MS - 1, { silent: true })).toEqual([]);
    expect(rig.advance(1, { silent: true })).toEqual(['lose-host one']);
  },
);

/** A rig whose host had half of its cores taken after this time, and `big`, which needs all of them. */
function rigWithQueue(afterMs: number) {
  const rig = new CoreRig();
  rig.hello(hostFacts('one', { cores: 2 }));
  rig.advance(afterMs);
  rig.submitInTurn(application(service({ resources: needs(null, 1) })));
  const big = rig.submitInTurn(application(service({ resources: needs(null, 2) })));
  return { rig, big };
}

test('C125: capacity is reserved after one delay at most once the clock was set back', () => {
  const { rig, big } = rigWithQueue(DAY_MS);
  expect(rig.cluster.reservation).toMatchObject({ execution: big, placements: [] });
  rig.advance(-DAY_MS);
  rig.advance(defaultSchedulerConfig.backfillReserveAfterMs);
  expect(rig.cluster.reservation).toMatchObject({ execution: big, placements: [{ host: { name: 'one' } }] });
});

const HOUR_MS = 3_600_000;
const steps = [
  ['forward', HOUR_MS],
  ['back', -HOUR_MS],
] as const;

test.each(steps)(
  'C332: after a step %s, a limit that is set later counts from the placement',
  (_, stepMs) => {
    const { rig, execution } = runningRig(application());
    rig.step(stepMs);
    rig.advance(30_000);
    changeTimeLimit(rig.cluster, execution, 60, undefined);
    expect(rig.advance(29_999)).toEqual([]);
    expect(rig.advance(1)).toContain('begin-cleanup 1 error');
  },
);

test.each(steps)(
  'C332: after a step %s, a service that died is started after its delay, and its deaths count on',
  (_, stepMs) => {
    const { rig, side } = runningRig();
    rig.see(side, exited(1), gone);
    expect(rig.step(stepMs)).toEqual([]);
    expect(rig.advance(999)).toEqual([]);
    expect(rig.advance(1)).toEqual(['start side0.2']);
    expect(recentDeaths(side, rig.nowMs + 599_000 - 1)).toHaveLength(1);
    expect(recentDeaths(side, rig.nowMs + 599_000)).toHaveLength(0);
  },
);

function silentRig(isDisconnected: boolean) {
  const rig = new CoreRig();
  const host = rig.hello(hostFacts('one'));
  rig.turn();
  if (isDisconnected) markDisconnected(rig.cluster, host);
  rig.advance(LOST_MS - 30_000, { silent: true });
  return { rig, decision: 'lose-host one' };
}
/** What is due in 30 s, whatever the wall clock shows by then. */
const due = {
  'an execution with a time limit ends': () => {
    const { rig } = startingRig(application(), new CoreRig(), 60);
    rig.advance(30_000);
    return { rig, decision: 'begin-cleanup 1 error' };
  },
  'a start that failed is tried again': () => {
    const { rig, web } = startingRig(application());
    for (const delayMs of [1_000, 2_000, 4_000, 8_000, 16_000, 2_000]) {
      rig.see(web, failed(true), gone);
      rig.advance(delayMs);
    }
    return { rig, decision: 'place web0@one' };
  },
  'a connected host is lost': () => silentRig(false),
  'a disconnected host is lost': () => silentRig(true),
};
test.each(
  steps.flatMap(([way, stepMs]) =>
    Object.entries(due).map(([what, begin]) => ({ way, stepMs, what, begin })),
  ),
)('C332: after a step $way, $what after its time', ({ stepMs, begin }) => {
  const { rig, decision } = begin();
  expect(rig.step(stepMs)).toEqual([]);
  expect(rig.advance(29_999, { silent: true })).toEqual([]);
  expect(nextDeadline(rig.cluster)).toBe(rig.nowMs + 1);
  expect(rig.advance(1, { silent: true })).toContain(decision);
});

test.each(steps)(
  'C332: after a step %s, capacity is reserved after the delay of the oldest execution',
  (_, stepMs) => {
    const { rig, big } = rigWithQueue(0);
    rig.step(stepMs);
    rig.advance(defaultSchedulerConfig.backfillReserveAfterMs - 1);
    expect(rig.cluster.reservation).toMatchObject({ execution: big, placements: [] });
    rig.advance(1);
    expect(rig.cluster.reservation?.placements).toHaveLength(1);
  },
);

test('C332: small corrections of the clock move nothing', () => {
  const rig = new CoreRig();
  const host = rig.hello(hostFacts('one'));
  rig.turn();
  const { lastContactMs } = host;
  rig.step(900);
  expect(host.lastContactMs).toBe(lastContactMs);
});
