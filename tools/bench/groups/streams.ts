/**
 * Measures streams to services and requests to web applications: a forwarded port, a command and an
 * application by Berth, beside the container itself; and what memory a stream takes.
 */
import type Docker from 'dockerode';
import { startProgram } from '../../../test/support/hosts/process.ts';
import { PASSWORD } from '../deployment.ts';
import { atLeast, type Both, bounded, byTurns, floored, type Measurement } from '../figure.ts';
import { resultOf, runLoad } from '../load.ts';
import type { Flow, FlowResult, Way } from '../streams/flow-program.ts';
import { HTTP_PORT, type Rig, TCP_PORT, withImage, withNode, withWorkerd } from '../streams/rig.ts';

const ROUNDS = 3;
const FLOW_S = 1.5;
const ECHO_S = 0.75;
const CLIENTS = 16;
const REQUESTS = 1_200;
const MAX_FLOW_MS = 60_000;

/** The rates are a floor below what was measured, in MB/s; those of requests are parts of the limit. */
const goals = {
  Node: { rate: 100, laterMs: 3, requests: 0.06, bodies: 0.1 },
  workerd: { rate: 50, laterMs: 10, requests: 0.02, bodies: 0.02 },
};

export function measureStreams(docker: Docker): Promise<Measurement[]> {
  return withImage(docker, async () => [
    ...(await withNode(docker, async (rig) => {
      let measured: Measurement[] = [];
      const growth = await rig.deployment.growthMb(async () => {
        measured = await measureFlows(rig);
      });
      const name = 'growth of control plane and agent meanwhile';
      return [...measured, bounded(name, 'MB', growth, 100), ...(await measureApplications(rig))];
    })),
    ...(await withWorkerd(docker, async (rig) => [
      ...(await measureFlows(rig)),
      ...(await measureApplications(rig)),
    ])),
  ]);
}

/** One stream by Berth and to the container itself, by turns. */
async function measureFlows({ kind, deployment, address, service }: Rig): Promise<Measurement[]> {
  const url = deployment.url;
  const forward: Way = { by: 'forward', url, password: PASSWORD, service, port: TCP_PORT };
  const command: Way = { by: 'exec', url, password: PASSWORD, service };
  const direct: Way = { by: 'tcp', address, port: TCP_PORT };
  const { rate, laterMs } = goals[kind];
  const down = await flowsOf([forward, direct], { kind: 'down', seconds: FLOW_S });
  const up = await flowsOf([forward, direct], { kind: 'up', seconds: FLOW_S });
  const port = await flowsOf([forward, direct], { kind: 'echo', seconds: ECHO_S });
  const terminal = await flowsOf([command, direct], { kind: 'echo', seconds: ECHO_S });
  const later = (name: string, both: Both): Measurement =>
    bounded(`round trip of 64 bytes ${name}`, 'ms', both, both.limit + laterMs);
  const megabytes = (name: string, both: Both): Measurement =>
    floored(`one stream on ${kind}, ${name} (limit: direct)`, 'MB/s', both, rate);
  return [
    megabytes('from a service', down('megabytesPerS')),
    megabytes('to a service', up('megabytesPerS')),
    later(`to a port on ${kind}, median`, port('medianMs')),
    later(`to a port on ${kind}, p99`, port('p99Ms')),
    later(`to a command on ${kind}, median (limit: a port, direct)`, terminal('medianMs')),
    later(`to a command on ${kind}, p99 (limit: a port, direct)`, terminal('p99Ms')),
  ];
}

/** Web applications by Berth and directly, by turns. The name of the host is in the headers. */
async function measureApplications({ kind, deployment, address, appHeaders }: Rig): Promise<Measurement[]> {
  const port = Number(new URL(deployment.url).port);
  const load = { method: 'GET', path: '/', clients: CLIENTS, requests: REQUESTS };
  const answered = await byTurns(ROUNDS, [
    () => runLoad({ ...load, port, headers: appHeaders }),
    () => runLoad({ ...load, port: HTTP_PORT, address }),
  ]);
  const ways: [Way, Way] = [
    { by: 'http', address: '127.0.0.1', port, headers: appHeaders },
    { by: 'http', address, port: HTTP_PORT, headers: {} },
  ];
  const down = await flowsOf(ways, { kind: 'down', seconds: FLOW_S });
  const up = await flowsOf(ways, { kind: 'up', seconds: FLOW_S });
  const { requests, bodies } = goals[kind];
  const ofLimit = (name: string, unit: string, both: Both, least: number): Measurement =>
    atLeast(`web application on ${kind}, ${name} (limit: direct)`, unit, both, least);
  return [
    ofLimit(`requests of ${CLIENTS} clients`, '/s', answered('perSecond'), requests),
    ofLimit('download', 'MB/s', down('megabytesPerS'), bodies),
    ofLimit('upload', 'MB/s', up('megabytesPerS'), bodies),
  ];
}

/** The medians of some rounds, by the name of the result. The second way is the limit. */
const flowsOf = ([one, limit]: [Way, Way], flow: Omit<Flow, 'way'>) =>
  byTurns(ROUNDS, [() => runFlow({ ...flow, way: one }), () => runFlow({ ...flow, way: limit })]);

/** Runs the client in a process of its own. Rejects if the stream breaks off. */
const runFlow = (flow: Flow): Promise<FlowResult> =>
  resultOf(startProgram(['tools/bench/streams/flow-program.ts', JSON.stringify(flow)]), MAX_FLOW_MS);
