/**
 * Kills every part again and again while users submit: Berth on Node and on workerd at the same time. Half a
 * minute; CHAOS_S=600 kills for ten minutes.
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, type TestContext, test } from 'vitest';
import { accountFor, leftOn, startedTwice } from '../../support/chaos/accounts.ts';
import { type LoneEngine, startLoneEngine } from '../../support/chaos/engine.ts';
import { SteadyLoad } from '../../support/chaos/load.ts';
import {
  killAtRandom,
  nodeControlPlane,
  ProgramPart,
  type Settings,
  withFolder,
  workerdControlPlane,
} from '../../support/chaos/parts.ts';
import { ApiClient } from '../../support/clients/api-client.ts';
import { openDatabase } from '../../support/hosts/databases.ts';
import { freePort } from '../../support/hosts/port.ts';
import { startProgram } from '../../support/hosts/process.ts';
import { startSqld } from '../../support/hosts/sqld.ts';
import { seededRandom } from '../../support/tools/random.ts';

const CHAOS_MS = 1_000 * Number(process.env.CHAOS_S ?? 30);
const SETTLE_MS = 90_000;
const PASSWORD = 'secret words';
const MAX_EVIDENCE_CHARS = 4_000;

let engine: LoneEngine;
let engineKills = 0;
/** One promise for each loop that kills parts. */
const allKilling: Promise<void>[] = [];
/** One promise for each deployment: its agent has stopped, and what it left on the engine has been read. */
const allInspected: Promise<void>[] = [];
/** The restart of the engine after all deployments have been inspected. */
let restarted: Promise<void> | undefined;

async function killEngine(): Promise<void> {
  engineKills += 1;
  await engine.kill();
}

beforeAll(async () => {
  engine = await startLoneEngine();
});

afterAll(() => engine?.end());

describe.concurrent('C130: any part killed at any moment', () => {
  test.for(['node', 'workerd'] as const)(
    'C130: on %s nothing acknowledged is lost, started twice or left behind',
    {
      timeout: CHAOS_MS + 2 * SETTLE_MS + 120_000,
    },
    (kind, { onTestFinished }) => withFolder((folder) => chaos(kind, folder, onTestFinished)),
  );
});

async function chaos(
  kind: 'node' | 'workerd',
  folder: string,
  onTestFinished: TestContext['onTestFinished'],
): Promise<void> {
  const deployment = `e2e-chaos-${kind}`;
  const inspected = Promise.withResolvers<void>();
  allInspected.push(inspected.promise);
  // Also after a failure, so that the other deployment does not wait for this one.
  onTestFinished(() => inspected.resolve());
  const random = seededRandom(kind === 'node' ? 1 : 2);
  const marks = join(folder, 'marks');
  await mkdir(marks);
  const database = await startSqld();
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const settings: Settings = {
    BERTH_PORT: String(port),
    BERTH_DATA_DIR: folder,
    BERTH_DATABASE_URL: database.url,
    BERTH_DEPLOYMENT_NAME: deployment,
    BERTH_ADMIN_PASSWORD: PASSWORD,
    BERTH_LOCAL_AGENT: 'off',
  };
  const controlPlane =
    kind === 'node' ? nodeControlPlane(settings) : await workerdControlPlane(folder, port, settings);
  await controlPlane.start();
  const api = new ApiClient(url, 'admin', PASSWORD);
  await api.removeQuotaLimits();
  const agent = await agentOf(api, { ...settings, BERTH_URL: url, BERTH_AGENT_VOLUME_ROOTS: marks });
  await agent.start();

  const kills: string[] = [];
  try {
    const load = new SteadyLoad(api, marks, random);
    const parts = [
      controlPlane,
      agent,
      { name: 'database', kill: database.kill, start: database.restart },
      // Both deployments share the engine, so one of them kills it.
      ...(kind === 'node' ? [{ name: 'engine', kill: killEngine, start: () => engine.start() }] : []),
    ];
    const over = new AbortController();
    const killing = killAtRandom(parts, random, AbortSignal.timeout(CHAOS_MS), (line) => kills.push(line));
    allKilling.push(killing);
    await Promise.all([load.run(over.signal), killing.finally(() => over.abort())]);
    // An agent cannot remove its network while the other deployment's loop kills the engine.
    await Promise.allSettled(allKilling);
    expect(load.accepted.size).toBeGreaterThan(10);
    expect(new Set(kills).size, 'every part was killed').toBe(parts.length);

    await api.endAll(SETTLE_MS);
    const executions = Object.values(await api.executions());
    const db = await openDatabase(database.url);
    const problems = [...accountFor(load, executions), ...(await startedTwice(marks, db, engineKills))];
    await db.close();
    await agent.stop();
    problems.push(...(await leftAtTheEnd(deployment, agent, inspected.resolve)));
    expect(problems).toEqual([]);
  } catch (error) {
    throw new Error(await evidenceOf(error, deployment, kills, agent), { cause: error });
  } finally {
    await Promise.allSettled([agent.kill(), controlPlane.kill()]);
    await database.stop();
  }
}

/** What the deployment has left on the engine. Calls `inspected` once the engine may be restarted. */
async function leftAtTheEnd(
  deployment: string,
  agent: ProgramPart,
  inspected: () => void,
): Promise<string[]> {
  const left = await leftOn(engine.docker, deployment);
  inspected();
  const onlyEmptyNetworks = left.every((one) => one.startsWith('network') && one.endsWith('({})'));
  if (left.length === 0 || !onlyEmptyNetworks) return left;
  // A killed engine may refuse to remove an empty network until it is restarted (C130).
  await Promise.all(allInspected);
  restarted ??= engine.kill().then(() => engine.start());
  await restarted;
  await agent.start();
  await agent.stop();
  return leftOn(engine.docker, deployment);
}

/** The failure, and what explains it: the kills, the containers that exist, and the agent's last output. */
async function evidenceOf(
  error: unknown,
  deployment: string,
  kills: readonly string[],
  agent: ProgramPart,
): Promise<string> {
  const left = await leftOn(engine.docker, deployment).catch((failure: unknown) => [String(failure)]);
  return [error, kills.join('; '), ...left, agent.program.output.slice(-MAX_EVIDENCE_CHARS)].join('\n');
}

/** Registers with a join token, which the agent no longer needs once it has its key. */
async function agentOf(api: ApiClient, settings: Settings): Promise<ProgramPart> {
  const env = { ...settings, BERTH_JOIN_TOKEN: await api.joinToken(), DOCKER_HOST: engine.dockerHost };
  return new ProgramPart('agent', () => startProgram(['agent/main.ts'], { env }), /session\.synced/);
}
