/** The agent of this machine, as a process of its own, on an engine that is away. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { startLocalAgent } from '../../../control-plane/local/local-agent.ts';
import { eventually } from '../../support/tools/eventually.ts';
import { scratchFolder } from '../../support/tools/folder.ts';

let dataDir: string;
let starts = 0;
let unable = 0;
let stop: () => Promise<void>;

beforeEach(async () => {
  dataDir = await scratchFolder('berth-local-agent-');
  vi.stubEnv('DOCKER_HOST', `unix://${join(dataDir, 'no-engine.sock')}`);
  [starts, unable] = [0, 0];
});
afterEach(async () => {
  await stop();
  vi.unstubAllEnvs();
});

function start(isWatched: boolean): void {
  ({ stop } = startLocalAgent({
    ...{ url: 'http://127.0.0.1:1', dataDir, deploymentName: 'test', isWatched },
    joinToken: async () => {
      starts += 1;
      return 'a token';
    },
    unable: () => void unable++,
  }));
}

test.each([
  ['that nobody watches', false, () => {}],
  ['whose machine has had an agent, though a person watches', true, () => mkdirSync(join(dataDir, 'agent'))],
])(
  'H753: an engine that is away ends no control plane %s, and the agent is started again',
  async (_, isWatched, prepare) => {
    prepare();
    start(isWatched);
    await eventually(() => starts >= 2);
    expect(unable).toBe(0);
  },
);

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
