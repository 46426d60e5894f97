import { beforeEach, expect, test } from 'vitest';
import { defaultStreamRules } from '../../../../control-plane/core/model/stream-rules.ts';
import { ADMIN_DOER } from '../../../support/apps/app-request.ts';
import { CoordinatorRig, codeOf, owner, seen } from '../../../support/rigs/coordinator-rig.ts';
import { running } from '../../../support/rigs/core-rig.ts';

let rig: CoordinatorRig;
let permit: (id: string) => Promise<ReadableStream<Uint8Array>>;

beforeEach(async () => {
  rig = await CoordinatorRig.open({ streams: { ...defaultStreamRules, perService: 2 } });
  await rig.submit();
  const agent = await rig.agent().join();
  const web = await agent.started();
  await agent.reportAndWait(seen(web, running));
  permit = (id) =>
    rig.coordinator.place({
      subscriber: { ...owner, use: { kind: 'exec-service' } },
      serviceId: web.service,
      id,
      for: { kind: 'stream', entry: { ...ADMIN_DOER, action: 'forward-port' } },
    });
});

test('C304: a stream counts once, although its request arrives twice', async () => {
  expect(await Promise.all(['a', 'a', 'b', 'c'].map((id) => codeOf(permit(id))))).toEqual([
    ...['fulfilled', 'conflict', 'fulfilled', 'too-many'],
  ]);
  expect(await codeOf(permit('a'))).toBe('conflict');
  await rig.coordinator.leavePlacement('a');
  expect(await codeOf(permit('a'))).toBe('fulfilled');
});
