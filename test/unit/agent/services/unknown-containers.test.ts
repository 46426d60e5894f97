import { afterEach, beforeEach, expect, test } from 'vitest';
import { type AgentRig, agentRig, scratchDir } from '../../../support/agents/agent-rig.ts';
import type { PeerConnection } from '../../../support/agents/control-plane-peer.ts';
import { FakeEngine } from '../../../support/engines/fake-engine.ts';
import { assignment } from '../../../support/fixtures/assignments.ts';
import { eventually } from '../../../support/tools/eventually.ts';

let scratch: Awaited<ReturnType<typeof scratchDir>>;
let engine: FakeEngine;
let rig: AgentRig;

beforeEach(async () => {
  scratch = await scratchDir();
  engine = new FakeEngine(`${scratch.path}/engine`);
  await begin();
});

afterEach(async () => {
  await rig.close();
  await scratch.remove();
});

async function begin(): Promise<PeerConnection> {
  rig = await agentRig(engine, { dataDir: `${scratch.path}/data` });
  return rig.peer.connection();
}

async function restart(): Promise<PeerConnection> {
  await rig.close();
  return begin();
}

test('P30: containers of services that are unknown to the control plane are left alone', async () => {
  const first = await rig.peer.connection();
  first.welcome([assignment(), assignment({ service: 7 }), assignment({ service: 9 })]);
  for (const service of [1, 7, 9]) await first.reported(service, 'running');
  const second = await restart();
  second.welcome([assignment()], { unknown: [{ first: 7, last: 8 }] });
  await second.reported(9, 'gone');
  expect([...engine.containers.values()].map(({ service }) => service)).toEqual([1, 7]);
  const report = await eventually(() => second.reports().find(({ conditions }) => conditions?.length === 1));
  expect(report?.conditions).toEqual([{ kind: 'unknown-containers', text: expect.stringContaining('(7)') }]);
});
test('P30: the containers are removed once the control plane no longer lists their services as unknown', async () => {
  const first = await rig.peer.connection();
  first.welcome([assignment({ service: 7 })]);
  await first.reported(7, 'running');
  const second = await restart();
  second.welcome([], { unknown: [{ first: 7, last: 7 }] });
  second.terminate();
  const third = await rig.peer.connection(2);
  expect((await third.hello()).inventory).toHaveLength(1);
  third.welcome([]);
  await third.reported(7, 'gone');
  expect(engine.containers.size).toBe(0);
});
test('P31: hello carries the highest ids of containers and stored logs', async () => {
  const first = await rig.peer.connection();
  expect((await first.hello()).highest).toEqual({ execution: 0, service: 0 });
  first.welcome([assignment({ service: 7, execution: 3 }), assignment({ service: 9, execution: 5 })]);
  for (const service of [7, 9]) await first.reported(service, 'running');
  first.stop({ service: 9, generation: 1 });
  await first.reported(9, 'gone');
  first.terminate();
  const second = await rig.peer.connection(2);
  expect((await second.hello()).highest).toEqual({ execution: 3, service: 9 });
  const third = await restart();
  expect((await third.hello()).highest).toEqual({ execution: 3, service: 9 });
});
