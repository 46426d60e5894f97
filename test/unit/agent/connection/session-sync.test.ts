import { afterEach, beforeEach, expect, test } from 'vitest';
import { closeCodes } from '../../../../shared/protocol/close.ts';
import { PROTOCOL_VERSION } from '../../../../shared/protocol/version.ts';
import { type AgentRig, agentRig, scratchDir } from '../../../support/agents/agent-rig.ts';
import { FakeEngine } from '../../../support/engines/fake-engine.ts';
import { assignment } from '../../../support/fixtures/assignments.ts';
import { eventually } from '../../../support/tools/eventually.ts';

let scratch: Awaited<ReturnType<typeof scratchDir>>;
let rig: AgentRig;

beforeEach(async () => {
  scratch = await scratchDir();
  const engine = new FakeEngine(`${scratch.path}/engine`);
  rig = await agentRig(engine, { dataDir: `${scratch.path}/data` });
});

afterEach(async () => {
  await rig.close();
  await scratch.remove();
});

test('P3: the assignments of all parts of a sync are started', async () => {
  const connection = await rig.peer.connection();
  const welcome = { type: 'welcome', version: PROTOCOL_VERSION, session: 's' } as const;
  connection.send({ ...welcome, reportPeriodMs: 60_000, timeMs: Date.now() });
  const first = [assignment(), assignment({ service: 2 })];
  connection.send({ type: 'sync', revision: 1, assignments: first, more: true });
  connection.send({ type: 'sync', revision: 1, assignments: [assignment({ service: 3 })], more: false });
  for (const service of [1, 2, 3]) await connection.reported(service, 'running');
});

test('P3: a second welcome ends the connection', async () => {
  const connection = await rig.peer.connection();
  connection.welcome([assignment()]);
  await connection.reported(1, 'running');
  connection.welcome([]);
  await eventually(() => connection.closeCode !== undefined);
  expect(connection.closeCode).toBe(closeCodes.badMessage.code);
});
