/**
 * Measures the control plane with 1,000 agents: executions of one service that ends at once, from submission
 * to the acknowledged removal of the container. Fails if an execution is lost or started duplicates.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { terminal } from '../../../agent/local/terminal.ts';
import { insertExecution } from '../../../control-plane/store/cluster/execution-rows.ts';
import { insertService } from '../../../control-plane/store/cluster/service-rows.ts';
import { openEmbedded } from '../../../control-plane/store/db/embedded.ts';
import { migrate } from '../../../control-plane/store/schema/migrate.ts';
import { migrations } from '../../../control-plane/store/schema/migrations.ts';
import { type Program, startProgram } from '../../../test/support/hosts/process.ts';
import { loadedExecution } from '../../../test/support/rigs/core-rig.ts';
import { application } from '../application.ts';
import { Deployment } from '../deployment.ts';
import { atLeast, atMost, type Measurement } from '../figure.ts';
import { type Load, runLoad } from '../load.ts';
import type { SimulatedAgentOptions } from '../programs/simulated-agent.ts';

/** Task of agents-program.ts. */
export interface AgentsLoad extends Pick<SimulatedAgentOptions, 'url' | 'deployment'> {
  /** Database for join tokens. */
  databaseUrl: string;
  agents: number;
  /** The program ends after this many executions have ended. */
  executions: number;
}

export interface AgentsResult {
  /** Executions per second, from the first submission to the last end. */
  perSecond: number;
  /** From the sending of a submission to its start command at the agent. */
  p99Ms: number;
  /** Number of distinct starts. */
  started: number;
  /** Number of starts that were sent more than once. */
  duplicates: number;
}

const AGENTS = 1_000;
const EXECUTIONS = 100_000;
const CLIENTS = 16;
const PLAIN_REQUESTS = 10_000;
const PROGRESS_MS = 5_000;

export async function measureAgents(): Promise<Measurement[]> {
  const deployment = await Deployment.start('bench-agents', 'off');
  try {
    await deployment.removeQuotaLimits();
    const result = await runAll(deployment);
    return [
      {
        name: '100,000 executions on 1,000 agents (limit: plain inserts)',
        unit: '/s',
        figure: result.perSecond,
        limit: await insertsPerSecond(),
        goal: atLeast(0.05),
      },
      {
        name: 'submit -> start command, p99 (limit: plain route)',
        unit: 'ms',
        figure: result.p99Ms,
        limit: await plainP99Ms(),
        goal: atMost(100, 'figure'),
      },
      {
        name: 'resident memory after these executions',
        unit: 'MB',
        figure: await deployment.residentMb(),
        goal: atMost(400, 'figure'),
      },
    ];
  } finally {
    await deployment.stop();
  }
}

/**
 * Submits as fast as 16 clients can, and waits until all executions have ended after exactly one start each.
 */
async function runAll(deployment: Deployment): Promise<AgentsResult> {
  const port = Number(new URL(deployment.url).port);
  const load: AgentsLoad = {
    agents: AGENTS,
    executions: EXECUTIONS,
    url: deployment.url,
    databaseUrl: deployment.databaseUrl,
    deployment: deployment.name,
  };
  const agents = startProgram(['tools/bench/programs/agents-program.ts', JSON.stringify(load)]);
  await agents.waitFor(/^joined$/m, 60_000);
  const submissions = submissionsTo(port, '/api/0.7', { cookie: deployment.cookie });
  const [result] = await Promise.all([resultOf(agents), runLoad({ ...submissions, requests: EXECUTIONS })]);
  await verify(deployment, result);
  return result;
}

const submissionsTo = (port: number, prefix: string, headers: Record<string, string>): Load => ({
  port,
  method: 'POST',
  path: `${prefix}/execution`,
  headers: { ...headers, 'content-type': 'application/json' },
  body: JSON.stringify({ name: '{nowMs}', application: application('true') }),
  clients: CLIENTS,
  requests: PLAIN_REQUESTS,
});

/** Latency of a server that only inserts the same submissions. */
async function plainP99Ms(): Promise<number> {
  const server = startProgram(['tools/bench/programs/plain-server.ts']);
  try {
    const [, port] = await server.waitFor(/port (\d+)/);
    return (await runLoad(submissionsTo(Number(port), '', {}))).p99Ms;
  } finally {
    await server.stop();
  }
}

/** Prints the progress until the program is done. */
async function resultOf(agents: Program): Promise<AgentsResult> {
  while (agents.ended === undefined) {
    await pause(PROGRESS_MS);
    const [, ended = 0] = agents.output.match(/.*ended (\d+)/s) ?? [];
    terminal.say(`  ${ended} of ${EXECUTIONS} have ended`);
  }
  const [line] = await agents.waitFor(/^\{.*\}$/m);
  return JSON.parse(line) as AgentsResult;
}

async function verify(deployment: Deployment, { started, duplicates }: AgentsResult): Promise<void> {
  const db = await openEmbedded(deployment.databaseUrl);
  const [row] = await db.query(`SELECT count(*) AS ended FROM executions WHERE status = 'terminated'`);
  await db.close();
  if (row?.ended !== EXECUTIONS || started !== EXECUTIONS || duplicates > 0)
    throw new Error(
      `${row?.ended} executions terminated, ${started} started, ${duplicates} duplicate starts`,
    );
}

/** Inserts executions with their service, as many per commit as submissions that can share one commit. */
async function insertsPerSecond(): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'berth-bench-'));
  const db = await openEmbedded(`file:${join(folder, 'plain.db')}`);
  try {
    await migrate(db, migrations);
    const ids = { execution: 1, service: 1, host: 1 };
    const described = application('true');
    const submission = {
      userId: 1,
      name: 'bench',
      application: described,
      description: JSON.stringify(described),
    };
    await db.query(
      `INSERT INTO users (id, username, email, role_id, quota_id, auth_source, fs_uid, priority, enabled)
      VALUES (1, 'bench', '', 1, 1, 'internal', 1000, 0, 1)`,
    );
    const startMs = performance.now();
    while (ids.execution <= EXECUTIONS) {
      const batch = Array.from({ length: CLIENTS }, () => loadedExecution(ids, submission, Date.now()));
      await db.batch(
        batch.flatMap((one) => [
          insertExecution(one, submission.description),
          ...one.services.map(insertService),
        ]),
      );
    }
    return EXECUTIONS / ((performance.now() - startMs) / 1000);
  } finally {
    await db.close();
    await rm(folder, { recursive: true, force: true });
  }
}
