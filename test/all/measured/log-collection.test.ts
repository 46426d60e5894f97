/** How long the agent collects the output of services before it sends it. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { encodeRecord } from '../../../agent/logs/record.ts';
import { type AgentRig, agentRig } from '../../support/agents/agent-rig.ts';
import type { PeerConnection } from '../../support/agents/control-plane-peer.ts';
import { FakeEngine } from '../../support/engines/fake-engine.ts';
import { assignment } from '../../support/fixtures/assignments.ts';
import { eventually } from '../../support/tools/eventually.ts';
import { testFolder } from '../../support/tools/test-folder.ts';

const key = { service: 1, generation: 1 };
let engine: FakeEngine;
let rig: AgentRig;
let connection: PeerConnection;

beforeEach(async () => {
  const scratch = await testFolder();
  engine = new FakeEngine(`${scratch}/engine`);
  rig = await agentRig(engine, { dataDir: `${scratch}/data` });
  connection = await rig.peer.connection();
  connection.welcome([assignment()]);
  await connection.reported(1, 'running');
});

afterEach(() => rig.close());

const lines = (...texts: string[]) =>
  Buffer.concat(
    texts.map((text) =>
      encodeRecord({ source: 'stdout', timeNs: 0n, line: Buffer.from(text), partial: false }),
    ),
  );

test('P156: output in many small pieces is collected for 20 ms at least before it is sent', async () => {
  connection.openOutput(1, key);
  const beginMs = performance.now();
  let count = 0;
  const elapsedMs = () => performance.now() - beginMs;
  // On the fastest machine too, 20 ms bring far less than a read that finds much.
  while (elapsedMs() < 300) {
    if (count < 20 * elapsedMs()) engine.write('c1', lines(String(++count)));
    await nextTurn();
  }
  engine.exit('c1', 0);
  await connection.ended(1);
  const chunks = connection.chunks.length;
  expect(connection.output(1).toString().split('\n')).toHaveLength(count + 1);
  expect(chunks).toBeLessThan(elapsedMs() / 20 + 2);
  expect(count).toBeGreaterThan(chunks);
});

test('P178: output is collected for as long as the latest `collect` requires', async () => {
  const collectMs = 150;
  const collect = (ms: number) => connection.send({ type: 'collect', ms });
  /** Whether output that a service prints for that time comes in no more chunks than the time allows. */
  const isCollected = async (timeMs: number) => {
    const before = connection.chunks.length;
    const beginMs = performance.now();
    const elapsedMs = () => performance.now() - beginMs;
    // Far less than a read that finds much.
    for (let count = 0; elapsedMs() < timeMs; await nextTurn())
      if (count < elapsedMs()) engine.write('c1', lines(String(++count)));
    return connection.chunks.length - before <= elapsedMs() / collectMs + 2;
  };
  collect(collectMs);
  connection.openOutput(1, key);
  expect(await isCollected(450)).toBe(true);
  collect(0);
  await eventually(async () => !(await isCollected(300)));
  collect(collectMs);
  await isCollected(300);
  expect(await isCollected(450)).toBe(true);
});
