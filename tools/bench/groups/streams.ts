/**
 * Measures streams to services: a forwarded port, a command and a terminal by Berth, beside the container
 * itself; what memory a stream takes; and a link on which streams and stops share the bandwidth.
 */
import type Docker from 'dockerode';
import { startProgram } from '../../../test/support/hosts/process.ts';
import { application } from '../application.ts';
import { PASSWORD } from '../deployment.ts';
import { startLink } from '../distant-link.ts';
import { atLeast, atMost, type Both, bounded, byTurns, floored, type Measurement, p99 } from '../figure.ts';
import { resultOf } from '../load.ts';
import type { Flow, FlowResult, Way } from '../streams/flow-program.ts';
import { type Rig, TCP_PORT, withDistantNode, withImage, withNode, withWorkerd } from '../streams/rig.ts';
import { saturate } from '../streams/saturation.ts';

const ROUNDS = 3;
const FLOW_S = 1.5;
const ECHO_S = 0.75;
const MAX_FLOW_MS = 60_000;

/** A floor below what was measured, in MB/s, and how much later a round trip may be. */
const goals = {
  Node: { rate: 100, laterMs: 3 },
  workerd: { rate: 50, laterMs: 10 },
};

const LINK = { roundTripMs: 100, megabytesPerS: 20 };
/** The first second goes by until the window has grown. */
const LINK_FLOW_S = 6;
/** Streams that send as much as the link and their windows let through. */
const SATURATING = 8;
/** In each round. */
const STOPS = 8;
const STOP_ROUNDS = 2;

export function measureStreams(docker: Docker): Promise<Measurement[]> {
  return withImage(docker, async () => [
    ...(await withNode(docker, async (rig) => {
      let measured: Measurement[] = [];
      const growth = await rig.deployment.growthMb(async () => {
        measured = await measureFlows(rig);
      });
      const name = 'growth of control plane and agent meanwhile';
      return [...measured, bounded(name, 'MB', growth, 100)];
    })),
    ...(await withWorkerd(docker, measureFlows)),
    ...(await withDistantNode(docker, LINK, async (rig) => [
      await measureLink(rig),
      ...(await measureStops(rig)),
    ])),
  ]);
}

/** One stream by Berth and to the container itself, by turns. */
async function measureFlows({ kind, deployment, address, container, service }: Rig): Promise<Measurement[]> {
  const url = deployment.url;
  const forward: Way = { by: 'forward', url, password: PASSWORD, service, port: TCP_PORT };
  const command: Way = { by: 'exec', url, password: PASSWORD, service };
  const direct: Way = { by: 'tcp', address, port: TCP_PORT };
  const ofBerth: Way = { ...command, hasTerminal: true };
  const ofEngine: Way = { by: 'engine', container };
  const { rate, laterMs } = goals[kind];
  const down = await flowsOf([forward, direct], { kind: 'down', seconds: FLOW_S });
  const up = await flowsOf([forward, direct], { kind: 'up', seconds: FLOW_S });
  const port = await flowsOf([forward, direct], { kind: 'echo', seconds: ECHO_S });
  const words = await flowsOf([command, direct], { kind: 'echo', seconds: ECHO_S });
  const terminal = await flowsOf([ofBerth, ofEngine], { kind: 'echo', seconds: ECHO_S });
  const later = (name: string, both: Both): Measurement =>
    bounded(`round trip of 64 bytes ${name}`, 'ms', both, both.limit + laterMs);
  const megabytes = (name: string, both: Both): Measurement =>
    floored(`one stream on ${kind}, ${name} (limit: direct)`, 'MB/s', both, rate);
  return [
    megabytes('from a service', down('megabytesPerS')),
    megabytes('to a service', up('megabytesPerS')),
    later(`to a port on ${kind}, median`, port('medianMs')),
    later(`to a port on ${kind}, p99`, port('p99Ms')),
    later(`to a command on ${kind}, median (limit: a port, direct)`, words('medianMs')),
    later(`to a command on ${kind}, p99 (limit: a port, direct)`, words('p99Ms')),
    atMost(`echo of a terminal on ${kind}, p99 (limit: the engine)`, 'ms', terminal('p99Ms'), 3),
  ];
}

/** One stream over a link, beside a connection to the container over such a link. */
async function measureLink({ deployment, address, service }: Rig): Promise<Measurement> {
  await using link = await startLink({ address, port: TCP_PORT }, LINK);
  const url = deployment.url;
  const forward: Way = { by: 'forward', url, password: PASSWORD, service, port: TCP_PORT };
  const direct: Way = { by: 'tcp', address: '127.0.0.1', port: link.port };
  const down = await flowsOf([forward, direct], { kind: 'down', seconds: LINK_FLOW_S });
  const name = `one stream over 100 ms and ${LINK.megabytesPerS} MB/s, from a service (limit: direct)`;
  return atLeast(name, 'MB/s', down('megabytesPerS'), 0.8);
}

/** Stops over the idle link, and while streams saturate it, by turns. */
async function measureStops(rig: Rig): Promise<Measurement[]> {
  await rig.deployment.removeQuotaLimits();
  const times = { idle: [] as number[], down: [] as number[], up: [] as number[] };
  for (let round = 0; round < STOP_ROUNDS; round++) {
    times.idle.push(...(await stop(rig)));
    for (const kind of ['down', 'up'] as const) times[kind].push(...(await stop(rig, kind)));
  }
  const idleMs = p99(times.idle);
  const beside = (name: string, slow: readonly number[]): Measurement => {
    const both = { figure: p99(slow), limit: idleMs };
    return bounded(
      `terminate -> terminated beside ${SATURATING} streams ${name}, p99 (limit: idle)`,
      'ms',
      both,
      idleMs + 150,
    );
  };
  return [beside('from a service', times.down), beside('to it', times.up)];
}

/** Ends services that end at once, one after the other. */
async function stop(rig: Rig, saturated?: 'down' | 'up'): Promise<number[]> {
  const { deployment } = rig;
  const ids: number[] = [];
  for (let n = 0; n < STOPS; n++) ids.push(await deployment.submit(application()));
  for (const id of ids) await deployment.reaches(id, 'running');
  await using _ = saturated && (await saturate(rig, saturated, SATURATING));
  const times: number[] = [];
  for (const id of ids) {
    const beganMs = performance.now();
    await deployment.request('DELETE', `execution/${id}`);
    await deployment.reaches(id, 'terminated');
    times.push(performance.now() - beganMs);
  }
  return times;
}

/** The medians of some rounds, by the name of the result. The second way is the limit. */
const flowsOf = ([one, limit]: [Way, Way], flow: Omit<Flow, 'way'>) =>
  byTurns(ROUNDS, [() => runFlow({ ...flow, way: one }), () => runFlow({ ...flow, way: limit })]);

/** Runs the client in a process of its own. Rejects if the stream breaks off. */
const runFlow = (flow: Flow): Promise<FlowResult> =>
  resultOf(startProgram(['tools/bench/streams/flow-program.ts', JSON.stringify(flow)]), MAX_FLOW_MS);
