/**
 * Measures an idle cluster on workerd, 40 ms from its database: how long coordinator and gateways are awake,
 * how often they wake, and how much later a submission reaches its host if the coordinator has slept.
 * `SLEEP_S` is how long the cluster is idle.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { StatisticsJson } from '../../../control-plane/http/json/schemas.ts';
import { openRemote } from '../../../control-plane/store/db/remote.ts';
import { enrol, newAgentKey } from '../../../test/support/agents/enrolment.ts';
import { RestClient } from '../../../test/support/clients/rest-client.ts';
import { ADMIN_PASSWORD } from '../../../test/support/hosts/hosts.ts';
import { type MortalHost, startMortalHost } from '../../../test/support/hosts/workerd/host-mortal.ts';
import { eventually } from '../../../test/support/tools/eventually.ts';
import { application } from '../application.ts';
import { cookieOf } from '../deployment.ts';
import { withDistantDatabase } from '../distant-database.ts';
import { atMost, type Measurement, median } from '../figure.ts';
import { simulateAgent } from '../programs/simulated-agent.ts';

const HOSTS = 20;
const SERVICES_EACH = 5;
const IDLE_S = Number(process.env.SLEEP_S ?? 600);
/** Submissions to a coordinator that sleeps, and as many to one that is awake. */
const SUBMISSIONS = 10;
/** By then the coordinator has nothing under way. */
const RESTS_MS = 3_000;
const WAIT_MS = 60_000;

export function measureSleep(): Promise<Measurement[]> {
  return withDistantDatabase(async ({ serverUrl, distantUrl }) => {
    const host = await startMortalHost({ BERTH_DATABASE_URL: distantUrl });
    const end = new AbortController();
    try {
      return await measureCluster(new IdleCluster(host, serverUrl, end.signal));
    } finally {
      end.abort();
      await host.stop();
    }
  });
}

async function measureCluster(cluster: IdleCluster): Promise<Measurement[]> {
  await cluster.start();
  const before = await cluster.awake();
  await pause(IDLE_S * 1_000);
  const slept = await cluster.startMs();
  const after = await cluster.awake();
  const { awake, wakes, memory } = differenceOf(before, after);
  const asleep: number[] = [];
  for (let n = 0; n < SUBMISSIONS; n++) {
    await cluster.evictCoordinator();
    asleep.push(await cluster.startMs());
  }
  const present: number[] = [];
  for (let n = 0; n < SUBMISSIONS; n++) present.push(await cluster.startMs());
  const name = `${HOSTS} hosts with ${SERVICES_EACH} services each, idle for ${IDLE_S} s`;
  const share = (seconds: number) => (100 * seconds) / IDLE_S;
  return [
    {
      name: `${name}: coordinator and gateway awake`,
      unit: '%',
      figure: share(awake),
      goal: atMost(2, 'figure'),
    },
    { name: `${name}: in memory`, unit: '%', figure: share(memory), goal: atMost(200, 'figure') },
    {
      name: `${name}: wakes of both a minute`,
      unit: '',
      figure: wakes / (IDLE_S / 60),
      goal: atMost(1, 'figure'),
    },
    {
      name: `${name}: hellos anew, also after ${SUBMISSIONS} evictions`,
      unit: '',
      figure: cluster.synced - HOSTS,
      goal: atMost(0, 'figure'),
    },
    {
      name: 'submission -> start command if all has slept, once',
      unit: 'ms',
      figure: slept - median(present),
      goal: atMost(300, 'figure'),
    },
    {
      name: `the same after an eviction of the coordinator, median of ${SUBMISSIONS}: later by`,
      unit: 'ms',
      figure: median(asleep) - median(present),
      goal: atMost(300, 'figure'),
    },
  ];
}

interface Totals {
  awake: number;
  wakes: number;
  memory: number;
}

function differenceOf(before: Totals, after: Totals): Totals {
  return {
    awake: after.awake - before.awake,
    wakes: after.wakes - before.wakes,
    memory: after.memory - before.memory,
  };
}

class IdleCluster {
  /** Number of complete syncs: one for each hello. */
  synced = 0;
  readonly #host: MortalHost;
  readonly #databaseUrl: string;
  readonly #signal: AbortSignal;
  readonly #started = new Map<number, number>();
  #cookie = '';

  constructor(host: MortalHost, databaseUrl: string, signal: AbortSignal) {
    this.#host = host;
    this.#databaseUrl = databaseUrl;
    this.#signal = signal;
  }

  /** Connects the hosts, and starts their services. */
  async start(): Promise<void> {
    const url = this.#host.url();
    this.#cookie = await cookieOf(url, 'admin', ADMIN_PASSWORD);
    await new RestClient(url, 'admin', ADMIN_PASSWORD).removeQuotaLimits();
    const db = openRemote(this.#databaseUrl);
    const { deployment } = this.#host;
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
        closed: () => {},
      };
      void simulateAgent({ url, deployment, name, hostId, key, ends: false }, events, this.#signal);
    }
    await db.close();
    await eventually(() => this.synced === HOSTS, WAIT_MS);
    for (let n = 0; n < HOSTS * SERVICES_EACH; n++) await this.#submit();
    await eventually(() => this.#started.size === HOSTS * SERVICES_EACH, WAIT_MS);
  }

  /** From a submission to its start command at the agent. */
  async startMs(): Promise<number> {
    const beginMs = performance.now();
    const id = await this.#submit();
    await eventually(() => this.#started.has(id), WAIT_MS);
    return (this.#started.get(id) ?? Number.NaN) - beginMs;
  }

  async evictCoordinator(): Promise<void> {
    await pause(RESTS_MS);
    await this.#host.killObject('coordinator');
  }

  /** The totals of coordinator and gateways together, in seconds. */
  async awake(): Promise<Totals> {
    const { awake } = await this.#json<StatisticsJson>('statistics/scheduler');
    const parts = [awake?.coordinator ?? [], awake?.gateways ?? []].flat();
    const sum = (of: (one: (typeof parts)[number]) => number) =>
      parts.reduce((total, one) => total + of(one), 0);
    return {
      awake: sum((one) => one.awake),
      wakes: sum((one) => one.wakes),
      memory: sum((one) => one.in_memory),
    };
  }

  async #submit(): Promise<number> {
    const body = JSON.stringify({ name: 'bench', application: application() });
    return (await this.#json<{ execution_id: number }>('execution', { method: 'POST', body })).execution_id;
  }

  async #json<T>(path: string, init: RequestInit = {}): Promise<T> {
    const headers = { cookie: this.#cookie, 'content-type': 'application/json' };
    const response = await fetch(`${this.#host.url()}/api/0.7/${path}`, { ...init, headers });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as T;
  }
}
