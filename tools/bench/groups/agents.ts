/**
 * Measures the control plane with 1,000 agents: executions of one service that ends at once, from submission
 * to the acknowledged removal of the container. Fails if an execution is lost or started twice.
 */
import { openEmbedded } from '../../../control-plane/store/db/embedded.ts';
import { Agents } from '../agents.ts';
import { application } from '../application.ts';
import { Deployment } from '../deployment.ts';
import { bounded, floored, type Measurement } from '../figure.ts';
import { runLoad } from '../load.ts';

const AGENTS = 1_000;
const EXECUTIONS = 100_000;
const CLIENTS = 16;
const MAX_MS = 600_000;

export async function measureAgents(): Promise<Measurement[]> {
  await using deployment = await Deployment.start('bench-agents', 'off');
  await using agents = new Agents(deployment, { agents: AGENTS, services: EXECUTIONS, ends: true });
  await deployment.removeQuotaLimits();
  await agents.synced();
  const submissions = deployment.submissions(CLIENTS, application('true'), '{nowMs}');
  const [seconds] = await Promise.all([
    agents.ended(MAX_MS),
    runLoad({ ...submissions, requests: EXECUTIONS }),
  ]);
  const { starts, twice, p99Ms } = await agents.summary();
  const terminated = await terminatedIn(deployment);
  if (terminated !== EXECUTIONS || starts !== EXECUTIONS || twice > 0)
    throw new Error(`${terminated} executions terminated, ${starts} started, ${twice} of them twice`);
  return [
    floored('100,000 executions on 1,000 agents', '/s', EXECUTIONS / seconds, 1_000),
    bounded('submit -> start command, p99', 'ms', p99Ms, 100),
    bounded('resident memory after these executions', 'MB', await deployment.residentMb(), 400),
  ];
}

async function terminatedIn({ databaseUrl }: Deployment): Promise<unknown> {
  const db = await openEmbedded(databaseUrl);
  const [row] = await db.query(`SELECT count(*) AS ended FROM executions WHERE status = 'terminated'`);
  await db.close();
  return row?.ended;
}
