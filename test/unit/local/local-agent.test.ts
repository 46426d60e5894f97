/** The agent of this machine, as a process of its own, on an engine that is away. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { startLocalAgent } from '../../../control-plane/local/local-agent.ts';
import { eventually } from '../../support/tools/eventually.ts';
import { scratchFolder } from '../../support/tools/folder.ts';

let dataDir: string;
let starts: number;
let unable: number;
let stop: () => Promise<void>;
const engine = process.env.DOCKER_HOST;

beforeEach(async () => {
  dataDir = await scratchFolder('berth-local-agent-');
  process.env.DOCKER_HOST = `unix://${join(dataDir, 'no-engine.sock')}`;
  starts = 0;
  unable = 0;
});
afterEach(async () => {
  await stop();
  if (engine === undefined) delete process.env.DOCKER_HOST;
  else process.env.DOCKER_HOST = engine;
});

function start(isWatched: boolean): void {
  ({ stop } = startLocalAgent({
    ...{ url: 'http://127.0.0.1:1', dataDir, deploymentName: 'test', isWatched },
    joinToken: async () => {
      starts += 1;
      return 'a token';
    },
    unable: () => {
      unable += 1;
    },
  }));
}

test('H753: an engine that is away ends no control plane that nobody watches, and the agent is started again', async () => {
  start(false);
  await eventually(() => starts >= 2);
  expect(unable).toBe(0);
});

test('H753: nor does it end one whose machine has had an agent, though a person watches', async () => {
  mkdirSync(join(dataDir, 'agent'));
  start(true);
  await eventually(() => starts >= 2);
  expect(unable).toBe(0);
});

test('H753: nor does a machine that can start no process end it', async () => {
  const program = process.execPath;
  process.execPath = join(dataDir, 'none');
  start(true);
  await eventually(() => starts >= 2);
  process.execPath = program;
  expect(unable).toBe(0);
});

test('H753: at the first start with a person watching, a missing engine ends the control plane', async () => {
  start(true);
  await eventually(() => unable === 1);
  expect(starts).toBe(1);
});
