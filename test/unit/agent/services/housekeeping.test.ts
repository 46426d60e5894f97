import { existsSync, mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { EngineError } from '../../../../agent/engine/engine.ts';
import { OutputStore } from '../../../../agent/logs/output-store.ts';
import { housekeep, startHousekeeping } from '../../../../agent/services/housekeeping.ts';
import { agentRig, scratchDir } from '../../../support/agents/agent-rig.ts';
import { FakeEngine } from '../../../support/engines/fake-engine.ts';
import { eventually } from '../../../support/tools/eventually.ts';

const DAY_S = 86_400;
let scratch: Awaited<ReturnType<typeof scratchDir>>;
let engine: FakeEngine;
let log: string[];
beforeEach(async () => {
  scratch = await scratchDir();
  engine = new FakeEngine(`${scratch.path}/engine`);
  log = [];
});
afterEach(() => scratch.remove());

/** A folder with a service's output, last written so many days ago. */
function stored(service: number | string, daysAgo: number, ...files: string[]): string {
  const folder = `${scratch.path}/logs/${service}`;
  mkdirSync(folder, { recursive: true });
  const timeS = Date.now() / 1000 - daysAgo * DAY_S;
  for (const file of files) {
    writeFileSync(`${folder}/${file}`, 'x');
    utimesSync(`${folder}/${file}`, timeS, timeS);
  }
  return folder;
}

function options({ tidy = async () => {}, isIdle = false, inUse = 0 } = {}) {
  const output = new OutputStore(`${scratch.path}/logs`, engine, () => {});
  return {
    engine: { tidy },
    output,
    agent: { isIdle, isKnown: (service: number) => service === inUse },
    logDays: 30,
    log: (event: string) => log.push(event),
    nowMs: Date.now,
  };
}

test('P46: output beyond its age is removed, including unfinished files and marks of unknown services', async () => {
  const old = stored(1, 31, '1.log', '2.log.copy', '2.started');
  const fresh = stored(2, 29, '1.log');
  const written = stored(3, 40, '1.log');
  stored(3, 1, '2.log.link');
  const used = stored(4, 40, '1.log');
  const foreign = stored('lost+found', 40, 'x');
  stored('0x2', 40, 'x');
  writeFileSync(`${scratch.path}/logs/5`, 'no folder');
  await housekeep(options({ inUse: 4 }));
  expect([old, fresh, written, used, foreign].map(existsSync)).toEqual([false, true, true, true, true]);
  expect(log).toEqual([]);
});

test('P46, P47: the housekeeping runs at the start and periodically, and retries what failed', async () => {
  let tried = 0;
  const tidy = async () => {
    tried += 1;
    if (tried === 1) throw new EngineError('unreachable', 'no engine');
  };
  onTestFinished(startHousekeeping({ ...options({ tidy, isIdle: true }), everyMs: 1 }));
  await eventually(() => tried > 2);
  expect(log).toEqual(['network.removal-failed']);
});

test('P47: the networks stay while the host has containers or may get some', async () => {
  const tidy = () => expect.unreachable();
  await housekeep(options({ tidy, isIdle: false }));
  const rig = await agentRig(engine, { dataDir: `${scratch.path}/data` });
  onTestFinished(rig.close);
  expect(rig.agent.isIdle).toBe(false);
  (await rig.peer.connection()).welcome();
  await eventually(() => rig.agent.isIdle);
});

test('P46: a container that a crash left behind without an assignment is removed in any state', async () => {
  const key = { generation: 1, cpu: undefined };
  engine.containers.set('a', { ...key, id: 'a', service: 1, state: 'created' });
  const ended = { exitCode: 0, outOfMemory: false, finishedAtMs: 1 };
  engine.containers.set('b', { ...key, id: 'b', service: 2, state: 'exited', ...ended });
  writeFileSync(engine.outputFile('b'), '');
  const rig = await agentRig(engine, { dataDir: `${scratch.path}/data` });
  onTestFinished(rig.close);
  expect(engine.containers.size).toBe(2);
  (await rig.peer.connection()).welcome();
  await eventually(() => engine.containers.size === 0);
});
