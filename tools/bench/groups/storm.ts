/**
 * Measures a storm: all agents lose their connection at the same moment and reconnect. Runs on Node, and on
 * workerd from the real bundle, where it also measures what readers of logs cost others.
 */
import { readFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { RestClient } from '../../../test/support/clients/rest-client.ts';
import { type Program, startProgram } from '../../../test/support/hosts/process.ts';
import { startLimitedWorkerd } from '../../../test/support/hosts/workerd/limited-workerd.ts';
import { application } from '../application.ts';
import { cookieOf, Deployment, PASSWORD, ROOM } from '../deployment.ts';
import { atLeast, atMost, type Measurement, median } from '../figure.ts';
import { runLoad, startLoad } from '../load.ts';
import type { SimulatedAgentOptions } from '../programs/simulated-agent.ts';

/** Task of storm-program.ts. */
export interface StormLoad extends Pick<SimulatedAgentOptions, 'url' | 'deployment' | 'cores'> {
  /** Database for join tokens. */
  databaseUrl: string;
  agents: number;
  /** First part of the names of the hosts. Default: `host`. */
  prefix?: string;
  /** Total number of services that the agents run. */
  services: number;
  /** Output of each service whose log is read. Default: none. */
  outputBytesPerS?: number;
}

interface Outcome {
  /** Processor time of the control plane for each agent, with what clients cost meanwhile. */
  cpuMs: number;
  seconds: number;
  p99Ms: number;
}

const AGENTS = 2_000;
const SERVICES_EACH = 2;
const ROUNDS = 3;
const CLIENTS = 4;
/**
 * Pause between requests of each API client during a storm. The clients measure latencies and must not add
 * load.
 */
const PAUSE_MS = 50;
const READERS = 100;
/** What all readers get together. */
const OUTPUT_BYTES_PER_S = 2e6;
/** From the opening of the logs to the measurement beside them. */
const READ_MS = 3_000;
/** Executions that are started for a measurement of their latency. */
const STARTS = 400;
/** The latency alone and beside readers is measured so many times, by turns. */
const START_ROUNDS = 5;
const JOIN_MS = 180_000;
const STORM_MS = 120_000;

export async function measureStorm(): Promise<Measurement[]> {
  return [...(await stormOnNode()), ...(await measureStormOnWorkerd())];
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
      agents: AGENTS,
      services: AGENTS * SERVICES_EACH,
    };
    const measured = await storms(load, cookie, 'Node', deployment.pid);
    const memory = {
      name: `resident memory after them, ${AGENTS} agents`,
      unit: 'MB',
      figure: await deployment.residentMb(),
      goal: atMost(600, 'figure'),
    };
    return [...measured, memory];
  } finally {
    await deployment.stop();
  }
}

export async function measureStormOnWorkerd(): Promise<Measurement[]> {
  const name = 'bench-storm';
  const workerd = await startLimitedWorkerd([], {
    BERTH_DEPLOYMENT_NAME: name,
    BERTH_ADMIN_PASSWORD: PASSWORD,
    BERTH_LIMITS: JSON.stringify(ROOM),
  });
  try {
    const url = workerd.url();
    const cookie = await cookieOf(url, 'admin');
    await new RestClient(url, 'admin', PASSWORD).removeQuotaLimits();
    const load = {
      url,
      deployment: name,
      databaseUrl: workerd.databaseUrl,
      agents: AGENTS,
      services: AGENTS * SERVICES_EACH,
      outputBytesPerS: OUTPUT_BYTES_PER_S / READERS,
    };
    return await storms(load, cookie, 'workerd', workerd.program().pid, (agents) =>
      readersOnWorkerd(agents, url, cookie),
    );
  } finally {
    await workerd.stop();
  }
}

/** Measures how much readers of logs delay the starts of executions. */
async function readersOnWorkerd(agents: Program, url: string, cookie: string): Promise<Measurement[]> {
  let printed = 0;
  const startP99Ms = async () => {
    await runLoad({ ...startsTo(url, cookie), pauseMs: PAUSE_MS, requests: STARTS });
    printed += 1;
    process.kill(agents.pid, 'SIGHUP');
    const found = await agents.waitFor(new RegExp(`(?:^p99 (\\S+) of ${STARTS}$[^]*){${printed}}`, 'm'));
    return Number(found[1]);
  };
  await startP99Ms();
  const alone: number[] = [];
  const beside: number[] = [];
  const megabytesPerS: number[] = [];
  for (let round = 0; round < START_ROUNDS; round++) {
    alone.push(await startP99Ms());
    const readers = openReaders(url, cookie);
    await pause(READ_MS);
    const bytes = readers.bytes();
    const beginMs = performance.now();
    beside.push(await startP99Ms());
    megabytesPerS.push((readers.bytes() - bytes) / 1e3 / (performance.now() - beginMs));
    await readers.close();
  }
  const name = `${READERS} readers of logs on workerd`;
  return [
    {
      name: `${name}: what they get together, of 2 MB/s`,
      unit: 'MB/s',
      figure: median(megabytesPerS),
      goal: atLeast(1.8, 'figure'),
    },
    {
      name: `${name}: submission -> start command, p99 (limit: without them)`,
      unit: 'ms',
      figure: median(beside),
      limit: median(alone),
      goal: atMost(median(alone) + 20, 'figure'),
    },
  ];
}

/** Opens the logs of the first services, and reads them until closed. */
function openReaders(url: string, cookie: string) {
  let bytes = 0;
  const end = new AbortController();
  const read = async (service: number) => {
    const address = `${url}/api/0.7/service/logs/${service}`;
    const { body } = await fetch(address, { headers: { cookie }, signal: end.signal });
    for await (const part of body ?? []) bytes += part.length;
  };
  const readers = Array.from({ length: READERS }, (_, at) => read(at + 1).catch(() => {}));
  return {
    /** Received so far, together. */
    bytes: () => bytes,
    async close() {
      end.abort();
      await Promise.all(readers);
    },
  };
}

/** Measures several storms and reports the slowest, with the highest API latency of all. */
async function storms(
  load: StormLoad,
  cookie: string,
  kind: string,
  pid: number,
  further: (agents: Program) => Promise<Measurement[]> = async () => [],
): Promise<Measurement[]> {
  const beginMs = performance.now();
  const agents = startProgram(['tools/bench/programs/storm-program.ts', JSON.stringify(load)]);
  try {
    await agents.waitFor(/^synced$/m, JOIN_MS);
    const joinS = (performance.now() - beginMs) / 1_000;
    await runLoad({ ...submissionsTo(load.url, cookie), requests: load.services });
    await agents.waitFor(/^runs$/m, JOIN_MS);
    const outcomes: Outcome[] = [];
    for (let round = 1; round <= ROUNDS; round++)
      outcomes.push(await storm(agents, load, cookie, round, pid));
    const worst = (of: keyof Outcome) => Math.max(...outcomes.map((outcome) => outcome[of]));
    const name = `${load.agents} agents on ${kind}, all dropped at once`;
    const more = await further(agents);
    return [
      {
        name: `${load.agents} agents on ${kind} register and connect`,
        unit: 's',
        figure: joinS,
        goal: atMost(60, 'figure'),
      },
      {
        name: `${name}: until all are in sync again`,
        unit: 's',
        figure: worst('seconds'),
        goal: atMost(kind === 'Node' ? 20 : 30, 'figure'),
      },
      {
        name: `${name}: API meanwhile, p99`,
        unit: 'ms',
        figure: worst('p99Ms'),
        goal: atMost(kind === 'Node' ? 500 : 250, 'figure'),
      },
      {
        name: `${name}: processor time of the control plane for each`,
        unit: 'ms',
        figure: worst('cpuMs'),
        goal: atMost(kind === 'Node' ? 3 : 9, 'figure'),
      },
      ...more,
    ];
  } finally {
    await agents.kill();
  }
}

async function storm(
  agents: Program,
  { url, agents: count }: StormLoad,
  cookie: string,
  round: number,
  pid: number,
): Promise<Outcome> {
  const beforeMs = await processorMs(pid);
  const ends = [readsOf(url, cookie), submissionsTo(url, cookie)].map((load) =>
    startLoad({ ...load, pauseMs: PAUSE_MS }),
  );
  const startMs = performance.now();
  process.kill(agents.pid, 'SIGUSR2');
  await agents.waitFor(new RegExp(`(^synced$[^]*){${round + 1}}`, 'm'), STORM_MS);
  const seconds = (performance.now() - startMs) / 1_000;
  const cpuMs = ((await processorMs(pid)) - beforeMs) / count;
  const results = await Promise.all(ends.map((end) => end()));
  return { seconds, cpuMs, p99Ms: Math.max(...results.map(({ p99Ms }) => p99Ms)) };
}

/** Processor time that a process has used, in steps of 10 ms. */
async function processorMs(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  const [, , , , , , , , , , , user = '0', system = '0'] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return 10 * (Number(user) + Number(system));
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

const startsTo = (url: string, cookie: string) => ({
  ...submissionsTo(url, cookie),
  body: JSON.stringify({ name: '{nowMs}', application: application() }),
});
