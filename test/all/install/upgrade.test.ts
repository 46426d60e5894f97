/** A Berth of the release before, which is upgraded while its containers run. */
import { randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { ApiClient } from '../../support/clients/api-client.ts';
import { testEngine } from '../../support/engines/engine.ts';
import { removeDeployment } from '../../support/engines/leftovers.ts';
import { application, script } from '../../support/fixtures/descriptions.ts';
import { freePort } from '../../support/hosts/port.ts';
import { type Program, startProgram } from '../../support/hosts/process.ts';
import { EarlierRelease } from '../../support/releases/earlier-release.ts';
import { thisRelease } from '../../support/releases/this-release.ts';
import { scratchFolder } from '../../support/tools/folder.ts';

const PASSWORD = 'secret words';
const HOST = 'upgraded';
const COUNTING = 'i=0; while true; do echo $i; i=$((i+1)); sleep 0.02; done';

beforeAll(async () => {
  await thisRelease();
});

test('P205: control plane and agents of a release with the same protocol are upgraded one after the other, the containers run on, and logs have no gap', {
  timeout: 120_000,
}, async () => {
  const berth = await upgradeControlPlane('e2e-upgrade', await earlierRelease());
  await berth.controlPlane.waitFor(/agent\.connected/);
  expect(await outputOf(berth.api, script('echo by the agent before'))).toBe('by the agent before\n');
  await upgradeAgent(berth);
});

test('P2, P205: an agent of another protocol is refused with the install command while its containers run on, and logs have no gap after its upgrade', {
  timeout: 120_000,
}, async () => {
  const berth = await upgradeControlPlane('e2e-upgrade-protocol', await earlierRelease('0123456789abcdef'));
  const url = berth.env.BERTH_URL;
  await berth.agent.waitFor(
    new RegExp(`connection\\.closed.*4426.*protocol 1-0123456789abcdef.*${url}/agent/install\\.sh`),
  );
  expect(await containersOf(berth.deployment, berth.counting.id)).toEqual(berth.counting.containers);
  await upgradeAgent(berth);
});

async function earlierRelease(hash?: string): Promise<EarlierRelease> {
  const release = await EarlierRelease.unpack(hash);
  onTestFinished(() => release.remove());
  return release;
}

const newControlPlane = (env: NodeJS.ProcessEnv) => startProgram(['control-plane/node.ts'], { env });
const newAgent = (env: NodeJS.ProcessEnv) => startProgram(['agent/main.ts'], { env });

interface Deployment {
  env: NodeJS.ProcessEnv;
  api: ApiClient;
  deployment: string;
}

/** A new control plane with an agent of before. */
interface Upgraded extends Deployment {
  agent: Program;
  controlPlane: Program;
  /** An execution of before, whose service prints numbers from 0, and the ids of its containers. */
  counting: { id: number; containers: string[] };
}

/** Starts a Berth of the release, and replaces its control plane. */
async function upgradeControlPlane(deployment: string, release: EarlierRelease): Promise<Upgraded> {
  const berth = await deploymentOf(deployment);
  const { env, api } = berth;
  const old = started(release.controlPlane(env));
  await old.waitFor(/listens on/);
  const agent = started(release.agent({ ...env, BERTH_JOIN_TOKEN: await api.joinToken() }));
  await agent.waitFor(/session\.synced/);
  const id = await api.run(application(script(COUNTING)));
  const containers = await containersOf(deployment, id);
  expect(containers).toHaveLength(1);
  await old.stop();
  const controlPlane = started(newControlPlane(env));
  await controlPlane.waitFor(/listens on/);
  return { ...berth, agent, controlPlane, counting: { id, containers } };
}

/** Replaces the agent, and expects that the execution of before runs in the same container all the time. */
async function upgradeAgent(berth: Upgraded): Promise<void> {
  await berth.agent.stop();
  const agent = started(newAgent(berth.env));
  await agent.waitFor(/session\.synced/);
  expect(await outputOf(berth.api, script('echo by the new agent'))).toBe('by the new agent\n');
  await expectCountingToHaveNoGap(berth);
  await agent.stop();
}

/** Ends the execution of before, which must still run in the same container. */
async function expectCountingToHaveNoGap({ api, deployment, counting }: Upgraded): Promise<void> {
  expect(await containersOf(deployment, counting.id)).toEqual(counting.containers);
  await api.terminate(counting.id);
  await api.waitFor(counting.id, 'terminated');
  const lines = (await api.logText(counting.id)).trimEnd().split('\n');
  expect(lines.length).toBeGreaterThan(20);
  expect(lines).toEqual(lines.map((_, at) => String(at)));
}

async function containersOf(deployment: string, execution: number): Promise<string[]> {
  const label = [`berth.deployment=${deployment}`, `berth.execution=${execution}`];
  const found = await (await testEngine()).listContainers({ filters: { label } });
  return found.map(({ Id }) => Id);
}

/** Settings of a control plane and its agent, whose containers are removed after the test. */
async function deploymentOf(deployment: string): Promise<Deployment> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const folder = await scratchFolder('berth-upgrade-');
  onTestFinished(async () => {
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    await removeDeployment(await testEngine(), deployment);
  });
  const env = {
    ...{ BERTH_PORT: String(port), BERTH_URL: url, BERTH_DATA_DIR: folder, BERTH_AGENT_NAME: HOST },
    ...{ BERTH_DEPLOYMENT_NAME: deployment, BERTH_ADMIN_PASSWORD: PASSWORD, BERTH_LOCAL_AGENT: 'off' },
    BERTH_SECRET_KEYS: randomBytes(32).toString('base64'),
  };
  return { env, deployment, api: new ApiClient(url, 'admin', PASSWORD) };
}

/** Ends the program after the test, if it still runs. */
function started(program: Program): Program {
  onTestFinished(async () => {
    if (program.ended === undefined) await program.kill();
  });
  return program;
}

/** Submits a service, and returns its output once it has ended. */
async function outputOf(api: ApiClient, service: Parameters<typeof application>[0]): Promise<string> {
  const id = await api.submit(application(service));
  await api.waitFor(id, 'terminated');
  return api.logText(id);
}
