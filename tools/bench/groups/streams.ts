/**
 * Measures streams to services and requests to web applications: a forwarded port, a command and an
 * application by Berth, beside the container itself; and what memory a stream takes.
 */
import type Docker from 'dockerode';
import { startProgram } from '../../../test/support/hosts/process.ts';
import { PASSWORD } from '../deployment.ts';
import { atLeast, bounded, type Measurement, median } from '../figure.ts';
import { runLoad } from '../load.ts';
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
  const down = await byTurns([forward, direct], { kind: 'down', seconds: FLOW_S });
  const up = await byTurns([forward, direct], { kind: 'up', seconds: FLOW_S });
  const port = await byTurns([forward, direct], { kind: 'echo', seconds: ECHO_S });
  const terminal = await byTurns([command, direct], { kind: 'echo', seconds: ECHO_S });
  const later = (name: string, { figure, limit }: Both): Measurement => ({
    ...bounded(`round trip of 64 bytes ${name}`, 'ms', figure, limit + laterMs),
    limit,
  });
  const megabytes = (name: string, both: Both): Measurement => ({
    name: `one stream on ${kind}, ${name} (limit: direct)`,
    unit: 'MB/s',
    ...both,
    goal: atLeast(rate, 'figure'),
  });
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
  const perSecond: number[] = [];
  const direct: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    perSecond.push((await runLoad({ ...load, port, headers: appHeaders })).perSecond);
    direct.push((await runLoad({ ...load, port: HTTP_PORT, address })).perSecond);
  }
  const ways: [Way, Way] = [
    { by: 'http', address: '127.0.0.1', port, headers: appHeaders },
    { by: 'http', address, port: HTTP_PORT, headers: {} },
  ];
  const down = await byTurns(ways, { kind: 'down', seconds: FLOW_S });
  const up = await byTurns(ways, { kind: 'up', seconds: FLOW_S });
  const { requests, bodies } = goals[kind];
  const ofLimit = (name: string, unit: string, both: Both, least: number): Measurement => ({
    name: `web application on ${kind}, ${name} (limit: direct)`,
    unit,
    ...both,
    goal: atLeast(least),
  });
  const rates = { figure: median(perSecond), limit: median(direct) };
  return [
    ofLimit(`requests of ${CLIENTS} clients`, '/s', rates, requests),
    ofLimit('download', 'MB/s', down('megabytesPerS'), bodies),
    ofLimit('upload', 'MB/s', up('megabytesPerS'), bodies),
  ];
}

interface Both {
  figure: number;
  limit: number;
}

/** The medians of some rounds, by the name of the result. The second way is the limit. */
async function byTurns(ways: [Way, Way], flow: Omit<Flow, 'way'>) {
  const results: [FlowResult[], FlowResult[]] = [[], []];
  for (let round = 0; round < ROUNDS; round++)
    for (const at of [0, 1] as const) results[at].push(await runFlow({ ...flow, way: ways[at] }));
  return (of: keyof FlowResult): Both => {
    const [figure = Number.NaN, limit = Number.NaN] = results.map((ones) =>
      median(ones.map((one) => one[of])),
    );
    return { figure, limit };
  };
}

/** Runs the client in a process of its own. Rejects if the stream breaks off. */
async function runFlow(flow: Flow): Promise<FlowResult> {
  const program = startProgram(['tools/bench/streams/flow-program.ts', JSON.stringify(flow)]);
  const ended = await program.waitForEnd(MAX_FLOW_MS);
  if (ended !== 0) throw new Error(`the client of a stream ended with ${ended}: ${program.output}`);
  const [line = ''] = await program.waitFor(/^\{.*\}$/m);
  return JSON.parse(line) as FlowResult;
}
