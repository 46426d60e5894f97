/** A Berth of the release before, which is upgraded while its containers run. */
import { rm } from 'node:fs/promises';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { RestClient } from '../../support/clients/rest-client.ts';
import { testEngine } from '../../support/engines/engine.ts';
import { removeDeployment } from '../../support/engines/leftovers.ts';
import { application, script } from '../../support/fixtures/descriptions.ts';
import { freePort } from '../../support/hosts/port.ts';
import { type Program, startProgram } from '../../support/hosts/process.ts';
import { EarlierRelease } from '../../support/releases/earlier-release.ts';
import { scratchFolder } from '../../support/tools/folder.ts';

const PASSWORD = 'secret words';
const COUNTING = 'i=0; while true; do echo $i; i=$((i+1)); sleep 0.02; done';

let before: EarlierRelease;

beforeAll(async () => {
  before = await EarlierRelease.unpack('berth-protocol-6');
});
afterAll(() => before?.remove());

const newControlPlane = (env: NodeJS.ProcessEnv) => startProgram(['control-plane/node.ts'], { env });
const newAgent = (env: NodeJS.ProcessEnv) => startProgram(['agent/main.ts'], { env });

test('P205: control plane and agents of the release before are upgraded one after the other, the containers run on, and logs have no gap', {
  timeout: 120_000,
}, async () => {
  const { env, api, deployment } = await deploymentOf('e2e-upgrade');
  const containerOf = async (id: number) => {
    const label = [`berth.deployment=${deployment}`, `berth.execution=${id}`];
    const found = await (await testEngine()).listContainers({ filters: { label } });
    return found.map(({ Id }) => Id);
  };
  let controlPlane = started(before.controlPlane(env));
  await controlPlane.waitFor(/listens on/);
  const joined = { ...env, BERTH_JOIN_TOKEN: await api.joinToken() };
  let agent = started(before.agent(joined));
  await agent.waitFor(/session\.synced/);
  const counting = await api.submit(application(script(COUNTING)));
  await api.waitFor(counting, 'running');
  const container = await containerOf(counting);
  expect(container).toHaveLength(1);

  await controlPlane.stop();
  controlPlane = started(newControlPlane(env));
  await controlPlane.waitFor(/database\.migrated/);
  await controlPlane.waitFor(/agent\.connected/);
  expect(await outputOf(api, script('echo by the agent before'))).toBe('by the agent before\n');
  expect(await containerOf(counting)).toEqual(container);

  await agent.stop();
  agent = started(newAgent(env));
  await agent.waitFor(/session\.synced/);
  expect(await outputOf(api, script('echo by the new agent'))).toBe('by the new agent\n');
  expect(await containerOf(counting)).toEqual(container);

  await api.terminate(counting);
  await api.waitFor(counting, 'terminated');
  const lines = (await api.logText(counting)).trimEnd().split('\n');
  expect(lines.length).toBeGreaterThan(20);
  expect(lines).toEqual(lines.map((_, at) => String(at)));
  await agent.stop();
  expect(await removeDeployment(await testEngine(), deployment)).toEqual([]);
});

test('P204: an agent that is newer than its control plane runs services and passes on their output', async () => {
  const { env, api } = await deploymentOf('e2e-newer-agent');
  const controlPlane = started(before.controlPlane(env));
  await controlPlane.waitFor(/listens on/);
  const agent = started(newAgent({ ...env, BERTH_JOIN_TOKEN: await api.joinToken() }));
  await agent.waitFor(/session\.synced/);
  expect(await outputOf(api, script('echo hello'))).toBe('hello\n');
  await agent.stop();
});

/** Settings of a control plane and its agent, whose containers are removed after the test. */
async function deploymentOf(
  deployment: string,
): Promise<{ env: NodeJS.ProcessEnv; api: RestClient; deployment: string }> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const folder = await scratchFolder('berth-upgrade-');
  onTestFinished(async () => {
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    await removeDeployment(await testEngine(), deployment);
  });
  const env = {
    ...{ BERTH_PORT: String(port), BERTH_URL: url, BERTH_DATA_DIR: folder },
    ...{ BERTH_DEPLOYMENT_NAME: deployment, BERTH_ADMIN_PASSWORD: PASSWORD, BERTH_LOCAL_AGENT: 'off' },
  };
  return { env, api: new RestClient(url, 'admin', PASSWORD), deployment };
}

/** Ends the program after the test, if it still runs. */
function started(program: Program): Program {
  onTestFinished(async () => {
    if (program.ended === undefined) await program.kill();
  });
  return program;
}

/** Submits a service, and returns its output once it has ended. */
async function outputOf(api: RestClient, service: Parameters<typeof application>[0]): Promise<string> {
  const id = await api.submit(application(service));
  await api.waitFor(id, 'terminated');
  return api.logText(id);
}
