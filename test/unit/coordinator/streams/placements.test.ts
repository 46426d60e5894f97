/** Placements as the coordinator gives them: what their readers get, and when their places are free. */
import { setImmediate } from 'node:timers/promises';
import { beforeEach, expect, test } from 'vitest';
import type { OpenPlacement } from '../../../../control-plane/coordinator/streams/placement.ts';
import { ANSWER_MS } from '../../../../control-plane/coordinator/streams/remote-placement.ts';
import { defaultStreamRules } from '../../../../control-plane/core/model/stream-rules.ts';
import { ADMIN_DOER } from '../../../support/apps/app-request.ts';
import { codeOf, owner } from '../../../support/rigs/coordinator-rig.ts';
import { type GatewayAgent, GatewayRig } from '../../../support/rigs/gateway-rig.ts';
import { eventually } from '../../../support/tools/eventually.ts';

let rig: GatewayRig;
let agent: GatewayAgent;
let service: number;

beforeEach(async () => {
  rig = await GatewayRig.open(2 ** 25, { streams: { ...defaultStreamRules, perService: 2 } });
  const runs = await rig.runs();
  [agent, service] = [runs.agent, runs.assignment.service];
});

const openStream = () =>
  rig.placements.place({
    subscriber: { ...owner, use: { kind: 'exec-service' } },
    serviceId: service,
    for: { kind: 'stream', entry: { ...ADMIN_DOER, action: 'forward-port' } },
  });
const openLog = () =>
  rig.placements.place({ subscriber: owner, serviceId: service, for: { kind: 'log', part: {} } });
const turns = async () => {
  for (let n = 0; n < 5; n++) await setImmediate();
};

test('C304: a stream counts until it is over or its client has left, and no longer', async () => {
  const codes = await Promise.all([openStream(), openStream(), codeOf(openStream())]);
  expect(codes[2]).toBe('too-many');
  codes[0].leave();
  await turns();
  expect(await codeOf(openStream())).toBe('fulfilled');
  expect(await codeOf(openStream())).toBe('too-many');
});

test('C304: a client in another object that answers nothing for 60 s does not count, although its socket is open', async () => {
  const silent = await openStream();
  void answering(await openStream());
  expect(await silent.next()).toMatchObject({ generation: 1 });
  await turns();
  rig.rig.clock.pass(ANSWER_MS - 1);
  await turns();
  expect(await codeOf(openStream())).toBe('too-many');
  rig.rig.clock.pass(1);
  await turns();
  expect(await codeOf(openStream())).toBe('fulfilled');
  expect(await silent.next()).toBeUndefined();
  expect(await codeOf(openStream())).toBe('too-many');
});
/** Its client takes each line at once. */
async function answering(placement: OpenPlacement): Promise<void> {
  while (await placement.next());
}

test('P174: a reader gets the latest state only, once it has used the one before, and a heartbeat each minute', async () => {
  const log = await openLog();
  expect(await log.next()).toMatchObject({ at: { gateway: { connection: agent.id } } });
  agent.connection.closed();
  const again = await rig.agent().join();
  expect(await log.next()).toMatchObject({ at: { gateway: { connection: again.id } } });
  const next = log.next();
  await turns();
  rig.rig.clock.pass(60_000);
  expect(await next).toBe('heartbeat');
});

test('C151, P174: a placement that ends states why, also to a reader that was busy, and the coordinator closes its socket', async () => {
  const [one, busy] = [await openStream(), await openStream()];
  await Promise.all([one.next(), busy.next()]);
  const next = one.next();
  await turns();
  await rig.rig.coordinator.terminate(1);
  expect(await next).toEqual({ ended: expect.any(String) });
  expect(await busy.next()).toEqual({ ended: expect.any(String) });
  expect(await Promise.all([one.next(), busy.next()])).toEqual([undefined, undefined]);
});

test('C232: the coordinator does not sleep while a placement is open, and sets no timer once the last one is closed', async () => {
  const isIdle = () => rig.rig.coordinator.saved !== undefined;
  await eventually(isIdle);
  const before = rig.rig.clock.timers;
  const [one, two] = [await openLog(), await openLog()];
  void answering(two);
  one.leave();
  await turns();
  expect([isIdle(), rig.rig.clock.timers]).toEqual([false, before + 1]);
  two.leave();
  await eventually(isIdle);
  expect(rig.rig.clock.timers).toBe(before);
});
