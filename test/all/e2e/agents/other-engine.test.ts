/** An agent with the key of a host and another engine: a copied data folder, or another DOCKER_HOST. */
import { cp } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { DEFAULT_SOCKET, socketOf, unixHost } from '../../../../agent/engine/engine-address.ts';
import { EngineProxy } from '../../../support/engines/engine-proxy.ts';
import { application, script } from '../../../support/fixtures/descriptions.ts';
import type { Program } from '../../../support/hosts/process.ts';
import { type Berth, startBerth } from '../../../support/rigs/berth.ts';
import { suiteFolder } from '../../../support/tools/test-folder.ts';

let berth: Berth;
let agent: Program;
const folder = suiteFolder();
let other: EngineProxy;

beforeAll(async () => {
  berth = await startBerth({ deployment: 'e2e-other-engine', env: { BERTH_LOCAL_AGENT: 'off' } });
  const socket = socketOf(process.env.DOCKER_HOST || unixHost(DEFAULT_SOCKET)) ?? DEFAULT_SOCKET;
  other = await EngineProxy.open(`${folder}/engine.sock`, socket);
  await other.become('is-another');
  agent = berth.startAgent();
});
afterAll(async () => {
  await berth.api.endAll();
  await berth.close(agent);
  other.close();
});

test('P318, P319: a copied data folder on another engine, and another DOCKER_HOST, end nothing of the host', async () => {
  const id = await berth.api.run(application(script('sleep 10000')));
  const isRunning = async () => {
    expect((await berth.api.execution(id)).status).toBe('running');
    expect((await berth.containersOf(id)).map(({ State }) => State)).toEqual(['running']);
  };
  const { ID, DockerRootDir } = (await berth.docker.info()) as { ID: string; DockerRootDir: string };
  const [own, another] = [ID, `XXXX${ID.slice(4)}`].map((engine) => `${engine}@${DockerRootDir}`);
  const DOCKER_HOST = unixHost(other.path);
  const refused = async (env: NodeJS.ProcessEnv) => {
    const program = berth.startAgent({ DOCKER_HOST, ...env });
    expect(await program.waitForEnd()).toBe(2);
    for (const part of [`engine ${own}`, `engine ${another}`, `BERTH_AGENT_ENGINE=${another}`])
      expect(program.output).toContain(part);
    await isRunning();
  };

  await cp(`${berth.dataDir}/agent`, `${folder}/copy`, { recursive: true });
  const copy = { BERTH_AGENT_DATA_DIR: `${folder}/copy` };
  await refused(copy);
  // Even an acceptance does not end what an agent with the host's engine runs.
  const accepting = berth.startAgent({ DOCKER_HOST, ...copy, BERTH_AGENT_ENGINE: another });
  await accepting.waitFor(/connection\.closed.*4503.*an agent with the engine of this host is connected/);
  expect(await accepting.stop()).toBe(0);
  await berth.program.waitFor(/agent\.second-session.*127\.0\.0\.1.*127\.0\.0\.1/);
  await isRunning();
  // The copy has kept the engine that was accepted, and the control plane that of the host.
  const late = berth.startAgent({ DOCKER_HOST, ...copy });
  expect(await late.waitForEnd()).toBe(2);
  expect(late.output).toContain(`are on the engine ${own}`);
  await isRunning();

  expect(await agent.stop()).toBe(0);
  await refused({});
  agent = berth.startAgent();
  await agent.waitFor(/session\.synced/);
  await isRunning();
});
