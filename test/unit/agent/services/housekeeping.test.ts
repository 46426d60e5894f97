import { existsSync, mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { EngineError } from '../../../../agent/engine/engine.ts';
import { OutputStore } from '../../../../agent/logs/output-store.ts';
import { expireLogs, startHousekeeping } from '../../../../agent/services/housekeeping.ts';
import { AgentMachine } from '../../../support/agents/agent-machine.ts';
import { limits } from '../../../support/agents/agent-rig.ts';
import type { FakeEngine } from '../../../support/engines/fake-engine.ts';
import { eventually } from '../../../support/tools/eventually.ts';

const DAY_S = 86_400;
let machine: AgentMachine;
let engine: FakeEngine;
let log: string[];
beforeEach(() => {
  machine = new AgentMachine();
  engine = machine.engine;
  log = [];
});

/** A folder with a service's output, last written so many days ago. */
function stored(service: number | string, daysAgo: number, ...files: string[]): string {
  const folder = `${machine.folder}/logs/${service}`;
  mkdirSync(folder, { recursive: true });
  const timeS = Date.now() / 1000 - daysAgo * DAY_S;
  for (const file of files) {
    writeFileSync(`${folder}/${file}`, 'x');
    utimesSync(`${folder}/${file}`, timeS, timeS);
  }
  return folder;
}

function options({ removeUnused = async (_: number) => {}, inUse = 0 } = {}) {
  const output = new OutputStore(`${machine.folder}/logs`, engine, () => {}, limits);
  return {
    engine: { removeUnused },
    output,
    agent: { isKnown: (service: number) => service === inUse },
    images: { round: async () => {} },
    logDays: 30,
    log: (event: string) => log.push(event),
    nowMs: Date.now,
    logsEveryMs: 1,
    networksEveryMs: 1,
    imagesEveryMs: 60_000,
  };
}

test('P46: output beyond its age is removed, including marks of unknown services', async () => {
  const old = stored(1, 31, '1.log', '2.log', '2.started');
  const fresh = stored(2, 29, '1.log');
  const written = stored(3, 40, '1.log');
  stored(3, 1, '2.log');
  const used = stored(4, 40, '1.log');
  const foreign = stored('lost+found', 40, 'x');
  stored('0x2', 40, 'x');
  writeFileSync(`${machine.folder}/logs/5`, 'no folder');
  await expireLogs(options({ inUse: 4 }));
  expect([old, fresh, written, used, foreign].map(existsSync)).toEqual([false, true, true, true, true]);
  expect(log).toEqual([]);
});

test('P46, P47: the housekeeping runs at the start and periodically, retries what failed, and logs a repeated failure once', async () => {
  const graces: number[] = [];
  const removeUnused = async (graceMs: number) => {
    graces.push(graceMs);
    if (graces.length < 3) throw new EngineError('unreachable', 'no engine');
  };
  onTestFinished(startHousekeeping(options({ removeUnused })));
  await eventually(() => graces.length > 3);
  expect(new Set(graces)).toEqual(new Set([60_000]));
  expect(log).toEqual(['network.removal-failed']);
});

test('P46: a container that a crash left behind without an assignment is removed in any state', async () => {
  const key = { generation: 1, cpu: undefined };
  engine.containers.set('a', { ...key, id: 'a', service: 1, state: 'created' });
  const ended = { exitCode: 0, outOfMemory: false, finishedAtMs: 1 };
  engine.containers.set('b', { ...key, id: 'b', service: 2, state: 'exited', ...ended });
  writeFileSync(engine.outputFile('b'), '');
  const connection = await machine.begin();
  expect(engine.containers.size).toBe(2);
  connection.welcome();
  await eventually(() => engine.containers.size === 0);
});
