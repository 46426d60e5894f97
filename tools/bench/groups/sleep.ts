/**
 * Measures an idle cluster on workerd, 40 ms from its database: how long coordinator and gateways are awake,
 * how often they wake, and how much later a submission reaches its host if the coordinator has slept.
 * `SLEEP_S` is how long the cluster is idle.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { StatisticsJson } from '../../../control-plane/http/json/schemas.ts';
import { openDatabase } from '../../../control-plane/local/open-database.ts';
import { enrol, newAgentKey } from '../../../test/support/agents/enrolment.ts';
import { eventually } from '../../../test/support/tools/eventually.ts';
import { application } from '../application.ts';
import { Deployment } from '../deployment.ts';
import { startDistantDatabase } from '../distant-database.ts';
import { bounded, type Measurement, median } from '../figure.ts';
import { simulateAgent } from '../programs/simulated-agent.ts';

const HOSTS = 20;
const SERVICES_EACH = 5;
const IDLE_S = Number(process.env.SLEEP_S ?? 600);
/** Submissions to a coordinator that sleeps, and as many to one that is awake. */
const SUBMISSIONS = 10;
/** By then the coordinator has nothing under way. */
const RESTS_MS = 3_000;
const WAIT_MS = 60_000;
/** Its objects can be killed one by one. */
const WORKER = 'test/support/hosts/workerd/mortal-worker/worker.ts';

export async function measureSleep(): Promise<Measurement[]> {
  await using database = await startDistantDatabase();
  const settings = { BERTH_DATABASE_URL: database.distantUrl };
  await using deployment = await Deployment.onWorkerd('bench-sleep', settings, [], { entry: WORKER });
  const end = new AbortController();
  try {
    return await measureCluster(new IdleCluster(deployment), database.serverUrl, end.signal);
  } finally {
    end.abort();
  }
}

async function measureCluster(
  cluster: IdleCluster,
  databaseUrl: string,
  signal: AbortSignal,
): Promise<Measurement[]> {
  await cluster.start(databaseUrl, signal);
  const before = await cluster.totals();
  await pause(IDLE_S * 1_000);
  const slept = await cluster.startMs();
  const after = await cluster.totals();
  const asleep: number[] = [];
  for (let n = 0; n < SUBMISSIONS; n++) {
    await cluster.evictCoordinator();
    asleep.push(await cluster.startMs());
  }
  const present: number[] = [];
  for (let n = 0; n < SUBMISSIONS; n++) present.push(await cluster.startMs());
  const name = `${HOSTS} hosts with ${SERVICES_EACH} services each, idle for ${IDLE_S} s`;
  const share = (of: 'awake' | 'in_memory') => (100 * (after[of] - before[of])) / IDLE_S;
  const wakes = (after.wakes - before.wakes) / (IDLE_S / 60);
  const later = `submission -> start command, later by`;
  return [
    bounded(`${name}: coordinator and gateway awake`, '%', share('awake'), 2),
    bounded(`${name}: in memory`, '%', share('in_memory'), 200),
    bounded(`${name}: wakes of both a minute`, '', wakes, 1),
    bounded(`hellos anew, also after ${SUBMISSIONS} evictions`, '', cluster.synced - HOSTS, 0),
    bounded(`${later}, if all has slept`, 'ms', slept - median(present), 300),
    bounded(`${later}, after an eviction of the coordinator`, 'ms', median(asleep) - median(present), 300),
  ];
}

class IdleCluster {
  /** Number of complete syncs: one for each hello. */
  synced = 0;
  readonly #deployment: Deployment;
  readonly #started = new Map<number, number>();

  constructor(deployment: Deployment) {
    this.#deployment = deployment;
  }

  /** Connects the hosts, and starts their services. */
  async start(databaseUrl: string, signal: AbortSignal): Promise<void> {
    await this.#deployment.removeQuotaLimits();
    const db = await openDatabase(databaseUrl, undefined);
    const { url, name: deployment } = this.#deployment;
    for (let at = 0; at < HOSTS; at++) {
      const [name, key] = [`host-${at}`, newAgentKey()];
      const hostId = await enrol({ url, deployment }, db, name, key);
      const events = {
        synced: () => {
          this.synced += 1;
        },
        started: ({ execution }: { execution: number }) =>
          void this.#started.set(execution, performance.now()),
        ended: () => {},
      };
      void simulateAgent({ url, deployment, name, hostId, key, ends: false }, events, signal);
    }
    await db.close();
    await eventually(() => this.synced === HOSTS, WAIT_MS);
    for (let n = 0; n < HOSTS * SERVICES_EACH; n++) await this.#deployment.submit(application());
    await eventually(() => this.#started.size === HOSTS * SERVICES_EACH, WAIT_MS);
  }

  /** From a submission to its start command at the agent. */
  async startMs(): Promise<number> {
    const beginMs = performance.now();
    const id = await this.#deployment.submit(application());
    await eventually(() => this.#started.has(id), WAIT_MS);
    return (this.#started.get(id) ?? Number.NaN) - beginMs;
  }

  async evictCoordinator(): Promise<void> {
    await pause(RESTS_MS);
    const { url, name } = this.#deployment;
    const { status } = await fetch(`${url}/abort/${name}`, { method: 'POST' });
    if (status !== 204) throw new Error(`the coordinator was not evicted: ${status}`);
  }

  /** What coordinator and gateways have together, in seconds. */
  async totals(): Promise<{ awake: number; wakes: number; in_memory: number }> {
    const { awake } = await this.#deployment.json<StatisticsJson>('GET', 'statistics/scheduler');
    const parts = [awake?.coordinator ?? [], awake?.gateways ?? []].flat();
    const sum = (of: 'awake' | 'wakes' | 'in_memory') => parts.reduce((total, one) => total + one[of], 0);
    return { awake: sum('awake'), wakes: sum('wakes'), in_memory: sum('in_memory') };
  }
}
