/**
 * Two control planes, of which the active one is killed while users submit: two takeovers.
 * STANDBY_TAKEOVERS=40 has forty, in about ten minutes.
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { Execution } from '../../../client/api-types.ts';
import { accountFor, leftOn, startedTwice } from '../../support/chaos/accounts.ts';
import { SteadyLoad } from '../../support/chaos/load.ts';
import { activeOf, agentReturns, type Member, PairClient } from '../../support/chaos/pair.ts';
import { nodeControlPlane, ProgramPart, type Settings, withFolder } from '../../support/chaos/parts.ts';
import { ApiClient } from '../../support/clients/api-client.ts';
import { testEngine } from '../../support/engines/engine.ts';
import { removeDeployment } from '../../support/engines/leftovers.ts';
import { openDatabase } from '../../support/hosts/databases.ts';
import { freePort } from '../../support/hosts/port.ts';
import { startProgram } from '../../support/hosts/process.ts';
import { startSqld } from '../../support/hosts/sqld.ts';
import { eventually } from '../../support/tools/eventually.ts';
import { seededRandom } from '../../support/tools/random.ts';

const TAKEOVERS = Number(process.env.STANDBY_TAKEOVERS ?? 2);
const SETTLE_MS = 90_000;
const TAKEOVER_MS = 15_000;
/** The longest pause of an agent between two rounds (P72), and a margin. */
const RETURN_MS = 15_000;
/** The longest that a kill may take, with the takeover and the return of the agent before and after it. */
const ROUND_MS = 2 * TAKEOVER_MS + 2 * RETURN_MS;
const MAX_LOGS = 40;
/** Executions of the load that write a line and end by themselves: every fourth. */
const writesAndEnds = (name: string): boolean => Number(name.slice('run-'.length)) % 4 === 0;
const PASSWORD = 'secret words';
const DEPLOYMENT = 'e2e-standby';
const MAX_EVIDENCE_CHARS = 10_000;

test(
  'C253, C256, P191: two control planes that are killed one after the other lose nothing, and each takes over within 15 s',
  {
    timeout: TAKEOVERS * ROUND_MS + 2 * SETTLE_MS + 120_000,
  },
  () => withFolder(run),
);

async function run(folder: string): Promise<void> {
  const random = seededRandom(3);
  const marks = join(folder, 'marks');
  await mkdir(marks);
  const database = await startSqld();
  const settings: Settings = {
    BERTH_DATABASE_URL: database.url,
    BERTH_DEPLOYMENT_NAME: DEPLOYMENT,
    BERTH_ADMIN_PASSWORD: PASSWORD,
    BERTH_LOCAL_AGENT: 'off',
    BERTH_STANDBY: 'on',
  };
  const members = [await member(settings, join(folder, 'one')), await member(settings, join(folder, 'two'))];
  for (const { part } of members) await part.start();
  const api = new PairClient(members, 'admin', PASSWORD);
  await activeOf(members, TAKEOVER_MS);
  await api.removeQuotaLimits();
  const agent = await agentOf(api, members, { ...settings, BERTH_DATA_DIR: folder }, marks);
  try {
    const load = new SteadyLoad(api, marks, random);
    const over = new AbortController();
    const killing = killTheActive(members, random);
    const [takeovers] = await Promise.all([killing.finally(() => over.abort()), load.run(over.signal)]);
    console.log(`takeovers ${takeovers.join(', ')} ms; ${load.accepted.size} executions`);
    expect(Math.max(...takeovers)).toBeLessThan(TAKEOVER_MS);
    expect(load.accepted.size).toBeGreaterThan(3 * TAKEOVERS);

    const finished = await eventually(() => finishedOf(api, load), SETTLE_MS);
    await api.endAll(SETTLE_MS);
    const executions = Object.values(await api.executions());
    const db = await openDatabase(database.url);
    const problems = [...accountFor(load, executions), ...(await startedTwice(marks, db, 0))];
    await db.close();
    for (const { id } of finished.slice(-MAX_LOGS)) {
      const text = await api.logText(id);
      if (text !== 'output\n') problems.push(`the log of ${id} is ${JSON.stringify(text)}`);
    }
    await agent.stop();
    problems.push(...(await leftOn(await testEngine(), DEPLOYMENT)));
    const evidence = () => agent.program.output.slice(-MAX_EVIDENCE_CHARS);
    if (problems.length > 0) throw new Error(`${problems.join('; ')}\n${evidence()}`);
  } finally {
    await Promise.allSettled([agent.kill(), ...members.map(({ part }) => part.kill())]);
    await database.stop();
    await removeDeployment(await testEngine(), DEPLOYMENT);
  }
}

/** Executions that have written their line and ended by themselves. Throws if there is none yet. */
async function finishedOf(api: ApiClient, { toTerminate }: SteadyLoad): Promise<Execution[]> {
  const finished = Object.values(await api.executions()).filter(
    ({ id, name, status }) => status === 'terminated' && writesAndEnds(name) && !toTerminate.has(id),
  );
  if (finished.length === 0) throw new Error('no execution has ended by itself');
  return finished;
}

async function member(settings: Settings, dataDir: string): Promise<Member> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const part = nodeControlPlane({ ...settings, BERTH_PORT: String(port), BERTH_DATA_DIR: dataDir });
  return { part, url, api: new ApiClient(url, 'admin', PASSWORD) };
}

/**
 * Kills the active control plane once an agent is connected to it, again and again; a supervisor starts it
 * again. Resolves to the time that each takeover took, in milliseconds.
 */
async function killTheActive(members: readonly Member[], random: () => number): Promise<number[]> {
  const takeovers: number[] = [];
  while (takeovers.length < TAKEOVERS) {
    const active = await activeOf(members, TAKEOVER_MS);
    await agentReturns(active, RETURN_MS);
    await pause(random() * 3_000);
    const killedMs = performance.now();
    await active.part.kill();
    const others = members.filter((one) => one !== active);
    const restarted = pause(random() * 5_000).then(() => active.part.start());
    const [next] = await Promise.all([activeOf(others, TAKEOVER_MS), restarted]);
    takeovers.push(Math.round(performance.now() - killedMs));
    await agentReturns(next, RETURN_MS);
  }
  return takeovers;
}

/** Registers by the list of both, and is connected to the active one. */
async function agentOf(
  api: PairClient,
  members: readonly Member[],
  settings: Settings,
  marks: string,
): Promise<ProgramPart> {
  const env = {
    ...settings,
    BERTH_URL: members.map(({ url }) => url).join(),
    BERTH_JOIN_TOKEN: await api.joinToken(),
    BERTH_AGENT_VOLUME_ROOTS: marks,
  };
  const part = new ProgramPart('agent', () => startProgram(['agent/main.ts'], { env }), /session\.synced/);
  await part.start();
  return part;
}
