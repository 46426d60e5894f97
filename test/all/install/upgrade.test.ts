/** A Berth of the two releases before, which is upgraded while its containers run. */
import { randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { RestClient } from '../../support/clients/rest-client.ts';
import { testEngine } from '../../support/engines/engine.ts';
import { removeDeployment } from '../../support/engines/leftovers.ts';
import { application, script } from '../../support/fixtures/descriptions.ts';
import { freePort } from '../../support/hosts/port.ts';
import { type Program, startProgram } from '../../support/hosts/process.ts';
import { EarlierRelease } from '../../support/releases/earlier-release.ts';
import { eventually } from '../../support/tools/eventually.ts';
import { scratchFolder } from '../../support/tools/folder.ts';

const PASSWORD = 'secret words';
const HOST = 'upgraded';
const COUNTING = 'i=0; while true; do echo $i; i=$((i+1)); sleep 0.02; done';
/** What an agent of protocol version 7 does not have. */
const SECRET = script('echo $WORD', { environment: [['WORD', '{secret#WORD}']] });
const CHECKED = script('sleep 1000', { health: { command: 'true' } });

let lastRelease: EarlierRelease;
let releaseBeforeIt: EarlierRelease;

beforeAll(async () => {
  lastRelease = await EarlierRelease.unpack('berth-protocol-7');
  releaseBeforeIt = await EarlierRelease.unpack('berth-protocol-6');
});
afterAll(() => Promise.all([lastRelease?.remove(), releaseBeforeIt?.remove()]));

test('P205, P223, C292: control plane and agents of the release before are upgraded one after the other, the containers run on, logs have no gap, and what only the new agent can do is refused until then', {
  timeout: 120_000,
}, async () => {
  const berth = await upgradeControlPlane('e2e-upgrade', lastRelease);
  const { api } = berth;
  await api.setSecret('secret', 'WORD', 'mellon');
  const [secret, checked] = [await api.submit(application(SECRET)), await api.submit(application(CHECKED))];
  const explained = async (id: number) => JSON.stringify(await api.explain(id));
  const remedy = `update it (berth host update ${HOST})`;
  const refusals = [
    [secret, `the agent of host ${HOST} is too old to use secrets: ${remedy}`],
    [checked, `the agent of host ${HOST} is too old to check the health of services: ${remedy}`],
  ] as const;
  for (const [id, refusal] of refusals)
    await eventually(async () => (await explained(id)).includes(refusal), 60_000);

  await berth.agent.stop();
  const agent = started(newAgent(berth.env));
  await agent.waitFor(/session\.synced/);
  await api.waitFor(secret, 'terminated');
  expect(await api.logText(secret)).toBe('mellon\n');
  await api.waitFor(checked, 'running');
  await expectCountingToHaveNoGap(berth);
  await api.endAll();
  await agent.stop();
  expect(await removeDeployment(await testEngine(), berth.deployment)).toEqual([]);
});

test('P205, H507: a control plane takes over the database, the agent and the containers of two releases before', {
  timeout: 120_000,
}, async () => {
  const berth = await upgradeControlPlane('e2e-upgrade-by-two', releaseBeforeIt);
  await expectCountingToHaveNoGap(berth);
  await berth.agent.stop();
});

test('P204: an agent that is newer than its control plane runs services and passes on their output', async () => {
  const { env, api } = await deploymentOf('e2e-newer-agent');
  const controlPlane = started(lastRelease.controlPlane(env));
  await controlPlane.waitFor(/listens on/);
  const agent = started(newAgent({ ...env, BERTH_JOIN_TOKEN: await api.joinToken() }));
  await agent.waitFor(/session\.synced/);
  expect(await outputOf(api, script('echo hello'))).toBe('hello\n');
  await agent.stop();
});

const newControlPlane = (env: NodeJS.ProcessEnv) => startProgram(['control-plane/node.ts'], { env });
const newAgent = (env: NodeJS.ProcessEnv) => startProgram(['agent/main.ts'], { env });

interface Deployment {
  env: NodeJS.ProcessEnv;
  api: RestClient;
  deployment: string;
}

/** A new control plane with an agent of before. */
interface Upgraded extends Deployment {
  agent: Program;
  /** An execution of before, whose service prints numbers from 0, and the ids of its containers. */
  counting: { id: number; containers: string[] };
}

/** Starts a Berth of the release, replaces its control plane, and expects that its agent works on. */
async function upgradeControlPlane(deployment: string, release: EarlierRelease): Promise<Upgraded> {
  const berth = await deploymentOf(deployment);
  const { env, api } = berth;
  const old = started(release.controlPlane(env));
  await old.waitFor(/listens on/);
  const agent = started(release.agent({ ...env, BERTH_JOIN_TOKEN: await api.joinToken() }));
  await agent.waitFor(/session\.synced/);
  const id = await api.submit(application(script(COUNTING)));
  await api.waitFor(id, 'running');
  const containers = await containersOf(deployment, id);
  expect(containers).toHaveLength(1);
  await old.stop();
  const controlPlane = started(newControlPlane(env));
  await controlPlane.waitFor(/database\.migrated/);
  await controlPlane.waitFor(/agent\.connected/);
  expect(await outputOf(api, script('echo by the agent before'))).toBe('by the agent before\n');
  return { ...berth, agent, counting: { id, containers } };
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
  return { env, deployment, api: new RestClient(url, 'admin', PASSWORD) };
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
