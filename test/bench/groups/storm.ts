/**
 * Measures a storm: all agents lose their connection at the same moment and reconnect. Runs on Node and on
 * workerd.
 */

import { RestClient } from '../../support/clients/rest-client.ts';
import { startWorkerdHost } from '../../support/hosts/host-workerd.ts';
import { ADMIN_PASSWORD } from '../../support/hosts/hosts.ts';
import { type Program, startProgram } from '../../support/hosts/process.ts';
import { application } from '../application.ts';
import { cookieOf, Deployment } from '../deployment.ts';
import { atMost, type Measurement } from '../figure.ts';
import { runLoad, startLoad } from '../load.ts';
import type { SimulatedAgentOptions } from '../programs/simulated-agent.ts';

/** Task of storm-program.ts. */
export interface StormLoad extends Pick<SimulatedAgentOptions, 'url' | 'deployment'> {
  /** Database for join tokens. */
  databaseUrl: string;
  agents: number;
  /** Total number of services that the agents run. */
  services: number;
}

interface Outcome {
  seconds: number;
  p99Ms: number;
}

const NODE_AGENTS = 2_000;
const WORKERD_AGENTS = 200;
const SERVICES_EACH = 2;
const ROUNDS = 3;
const CLIENTS = 4;
/**
 * Pause between requests of each API client during a storm. The clients measure latencies and must not add
 * load.
 */
const PAUSE_MS = 50;
const JOIN_MS = 180_000;
const STORM_MS = 120_000;

export async function measureStorm(): Promise<Measurement[]> {
  return [...(await stormOnNode()), ...(await stormOnWorkerd())];
}

async function stormOnNode(): Promise<Measurement[]> {
  const deployment = await Deployment.start('bench-storm', 'off');
  try {
    const { url, name, databaseUrl, cookie } = deployment;
    await deployment.removeQuotaLimits();
    const load = {
      url,
      deployment: name,
      databaseUrl,
      agents: NODE_AGENTS,
      services: NODE_AGENTS * SERVICES_EACH,
    };
    const measured = await storms(load, cookie, 'Node');
    const memory = {
      name: `resident memory after them, ${NODE_AGENTS} agents`,
      unit: 'MB',
      figure: await deployment.residentMb(),
      goal: atMost(600, 'figure'),
    };
    return [...measured, memory];
  } finally {
    await deployment.stop();
  }
}

async function stormOnWorkerd(): Promise<Measurement[]> {
  const host = await startWorkerdHost({
    variant: 'B',
    deployment: 'bench-storm',
    adminPassword: ADMIN_PASSWORD,
  });
  try {
    const url = host.url();
    const cookie = await cookieOf(url, 'admin', ADMIN_PASSWORD);
    await new RestClient(url, 'admin', ADMIN_PASSWORD).removeQuotaLimits();
    const services = WORKERD_AGENTS * SERVICES_EACH;
    const databaseUrl = host.database.url;
    return await storms(
      { url, deployment: host.deployment, databaseUrl, agents: WORKERD_AGENTS, services },
      cookie,
      'workerd',
    );
  } finally {
    await host.stop();
  }
}

/** Measures several storms and reports the slowest, with the highest API latency of all. */
async function storms(load: StormLoad, cookie: string, kind: string): Promise<Measurement[]> {
  const agents = startProgram(['test/bench/programs/storm-program.ts', JSON.stringify(load)]);
  try {
    await agents.waitFor(/^synced$/m, JOIN_MS);
    await runLoad({ ...submissionsTo(load.url, cookie), requests: load.services });
    await agents.waitFor(/^runs$/m, JOIN_MS);
    const outcomes: Outcome[] = [];
    for (let round = 1; round <= ROUNDS; round++) outcomes.push(await storm(agents, load.url, cookie, round));
    const worst = (of: keyof Outcome) => Math.max(...outcomes.map((outcome) => outcome[of]));
    const name = `${load.agents} agents on ${kind}, all dropped at once`;
    return [
      {
        name: `${name}: until all are in sync again`,
        unit: 's',
        figure: worst('seconds'),
        goal: atMost(20, 'figure'),
      },
      {
        name: `${name}: API meanwhile, p99`,
        unit: 'ms',
        figure: worst('p99Ms'),
        goal: atMost(500, 'figure'),
      },
    ];
  } finally {
    await agents.kill();
  }
}

async function storm(agents: Program, url: string, cookie: string, round: number): Promise<Outcome> {
  const ends = [readsOf(url, cookie), submissionsTo(url, cookie)].map((load) =>
    startLoad({ ...load, pauseMs: PAUSE_MS }),
  );
  const startMs = performance.now();
  process.kill(agents.pid, 'SIGUSR2');
  await agents.waitFor(new RegExp(`(^synced$[^]*){${round + 1}}`, 'm'), STORM_MS);
  const seconds = (performance.now() - startMs) / 1_000;
  const results = await Promise.all(ends.map((end) => end()));
  return { seconds, p99Ms: Math.max(...results.map(({ p99Ms }) => p99Ms)) };
}

const readsOf = (url: string, cookie: string) => ({
  port: Number(new URL(url).port),
  method: 'GET',
  path: '/api/0.7/execution/1',
  headers: { cookie },
  clients: CLIENTS,
});

const submissionsTo = (url: string, cookie: string) => ({
  ...readsOf(url, cookie),
  method: 'POST',
  path: '/api/0.7/execution',
  headers: { cookie, 'content-type': 'application/json' },
  body: JSON.stringify({ name: 'storm', application: application() }),
});
