/**
 * Measures what one stream at 100 MB/s costs others on Node: starts on other hosts, and a reader of the log
 * of the same service, whose output comes through the same connection of the agent.
 */
import { once } from 'node:events';
import { connect } from 'node:net';
import { type Program, startProgram } from '../../../test/support/hosts/process.ts';
import { application } from '../application.ts';
import type { Deployment } from '../deployment.ts';
import { atLeast, atMost, type Measurement, median } from '../figure.ts';
import type { StormLoad } from '../groups/storm.ts';
import { runLoad } from '../load.ts';
import { startFlow } from './flow.ts';
import type { Rig } from './rig.ts';

const AGENTS = 20;
/** More than the machine of the real agent has, so that everything starts at the simulated ones. */
const SERVICE_CORES = 500;
/** Each simulated agent runs so many of these services, which is more than its share of the rounds. */
const SERVICES_EACH = 1_000;
const BYTES_PER_S = 100e6;
const LOG_BYTES_PER_S = 5e6;
const ROUNDS = 4;
/** Each round takes about 3 s. */
const STARTS = 400;
const CLIENTS = 4;
const PAUSE_MS = 25;
const JOIN_MS = 60_000;

interface Round {
  p99Ms: number;
  /** What the reader of the log gets. */
  megabytesPerS: number;
}

export async function measureBeside(rig: Rig, deployment: Deployment): Promise<Measurement[]> {
  const { url, name, databaseUrl } = deployment;
  const load: StormLoad = {
    ...{
      url,
      deployment: name,
      databaseUrl,
      agents: AGENTS,
      services: 0,
      cores: SERVICES_EACH * SERVICE_CORES,
    },
  };
  const agents = startProgram(['tools/bench/programs/storm-program.ts', JSON.stringify(load)]);
  const log = await readLog(rig);
  try {
    await agents.waitFor(/^synced$/m, JOIN_MS);
    const starts = new Starts(deployment, agents);
    const round = async (): Promise<Round> => {
      const before = log.bytes();
      const beganMs = performance.now();
      const p99Ms = await starts.p99Ms();
      return { p99Ms, megabytesPerS: (log.bytes() - before) / 1e3 / (performance.now() - beganMs) };
    };
    await round();
    const [alone, beside, rates]: [Round[], Round[], number[]] = [[], [], []];
    for (let n = 0; n < ROUNDS; n++) {
      alone.push(await round());
      const stop = await startFlow({ way: rig.forward, kind: 'down', bytesPerS: BYTES_PER_S });
      beside.push(await round());
      rates.push((await stop()).megabytesPerS);
    }
    return measured(alone, beside, rates);
  } finally {
    log.close();
    await agents.kill();
  }
}

function measured(alone: Round[], beside: Round[], rates: number[]): Measurement[] {
  const medianOf = (rounds: Round[], what: keyof Round) => median(rounds.map((one) => one[what]));
  const name = 'beside one stream on Node';
  return [
    {
      name: `${name}: what passes it, of ${BYTES_PER_S / 1e6} MB/s`,
      unit: 'MB/s',
      figure: median(rates),
      goal: atLeast((0.9 * BYTES_PER_S) / 1e6, 'figure'),
    },
    {
      name: `${name}: submission -> start command, p99 (limit: without it)`,
      unit: 'ms',
      figure: medianOf(beside, 'p99Ms'),
      limit: medianOf(alone, 'p99Ms'),
      goal: atMost(medianOf(alone, 'p99Ms') + 10, 'figure'),
    },
    {
      name: `${name}: a reader of the log of its service, of ${LOG_BYTES_PER_S / 1e6} MB/s (limit: without it)`,
      unit: 'MB/s',
      figure: medianOf(beside, 'megabytesPerS'),
      limit: medianOf(alone, 'megabytesPerS'),
      goal: atLeast(0.9),
    },
  ];
}

/** Submissions of executions that run at the simulated agents. */
class Starts {
  readonly #deployment: Deployment;
  readonly #agents: Program;
  #printed = 0;

  constructor(deployment: Deployment, agents: Program) {
    this.#deployment = deployment;
    this.#agents = agents;
  }

  /** From the submission to the start command at the agent. */
  async p99Ms(): Promise<number> {
    const { url, cookie } = this.#deployment;
    const description = application();
    for (const { resources } of description.services)
      resources.cores = { min: SERVICE_CORES, max: SERVICE_CORES };
    await runLoad({
      ...{ port: Number(new URL(url).port), method: 'POST', path: '/api/0.7/execution' },
      headers: { cookie, 'content-type': 'application/json' },
      body: JSON.stringify({ name: '{nowMs}', application: description }),
      ...{ clients: CLIENTS, pauseMs: PAUSE_MS, requests: STARTS },
    });
    this.#printed += 1;
    process.kill(this.#agents.pid, 'SIGHUP');
    const pattern = new RegExp(`(?:^p99 (\\S+) of ${STARTS}$[^]*){${this.#printed}}`, 'm');
    return Number((await this.#agents.waitFor(pattern))[1]);
  }
}

/** Lets the service write its log, and reads it. */
async function readLog({ url, cookie, address, service, forward }: Rig) {
  let bytes = 0;
  const end = new AbortController();
  const control = connect({ host: address, port: forward.port });
  await once(control, 'connect');
  control.write(`log ${LOG_BYTES_PER_S}\n`);
  const log = `${url}/api/0.7/service/logs/${service}`;
  const { body } = await fetch(log, { headers: { cookie }, signal: end.signal });
  const reading = (async () => {
    for await (const part of body ?? []) bytes += part.length;
  })().catch(() => {});
  return {
    bytes: () => bytes,
    close() {
      control.destroy();
      end.abort();
      void reading;
    },
  };
}
