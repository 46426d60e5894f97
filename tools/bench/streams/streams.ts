/**
 * Measures streams to services and requests to web applications: a forwarded port beside a bare relay over
 * two WebSocket hops, what one stream costs others, memory, and web applications beside direct requests.
 */
import type Docker from 'dockerode';
import { type Program, startProgram } from '../../../test/support/hosts/process.ts';
import { atLeast, atMost, type Goal, type Measurement, median } from '../figure.ts';
import { runLoad } from '../load.ts';
import { measureBeside } from './beside.ts';
import { type Flow, type FlowResult, runFlow, type Way } from './flow.ts';
import { measureCopies } from './memory.ts';
import { HTTP_PORT, type Rig, withImage, withNode, withWorkerd } from './rig.ts';

const ROUNDS = 3;
const FLOW_S = 1.5;
const ECHO_S = 0.75;
const CLIENTS = 16;
const REQUESTS = 1_200;

/**
 * Parts of the limit. Those of web applications, whose limit does nothing but answer, and those through
 * gateways are a floor below what was measured.
 */
const goals = {
  Node: { rate: atLeast(0.6), laterMs: 3, requests: atLeast(0.06), bodies: atLeast(0.1) },
  workerd: { rate: atLeast(0.2), laterMs: 10, requests: atLeast(0.02), bodies: atLeast(0.02) },
};

export function measureStreams(docker: Docker): Promise<Measurement[]> {
  return withImage(docker, async () => [
    ...(await withNode(docker, async (rig, deployment) => {
      const flows = await measureFlows(rig);
      const applications = await measureApplications(rig);
      const copies = await measureCopies(rig, deployment);
      return [...flows, ...applications, ...copies, ...(await measureBeside(rig, deployment))];
    })),
    ...(await withWorkerd(docker, async (rig) => [
      ...(await measureFlows(rig)),
      ...(await measureApplications(rig)),
    ])),
  ]);
}

/** One stream by Berth and by the bare relay, by turns. */
async function measureFlows({ kind, forward }: Rig): Promise<Measurement[]> {
  return withBareRelay(async (bare) => {
    const both = { forward, bare };
    const down = await byTurns(both, { kind: 'down', seconds: FLOW_S });
    const up = await byTurns(both, { kind: 'up', seconds: FLOW_S });
    const echo = await byTurns(both, { kind: 'echo', seconds: ECHO_S });
    const { rate, laterMs } = goals[kind];
    const later = (limit: number): Goal => atMost(limit + laterMs, 'figure');
    return [
      { name: `one stream on ${kind}, from a service`, unit: 'MB/s', ...down('megabytesPerS'), goal: rate },
      { name: `one stream on ${kind}, to a service`, unit: 'MB/s', ...up('megabytesPerS'), goal: rate },
      {
        name: `round trip of 64 bytes on ${kind}, median`,
        unit: 'ms',
        ...echo('medianMs'),
        goal: later(echo('medianMs').limit),
      },
      {
        name: `round trip of 64 bytes on ${kind}, p99`,
        unit: 'ms',
        ...echo('p99Ms'),
        goal: later(echo('p99Ms').limit),
      },
    ];
  });
}

/** Web applications by Berth and directly, by turns. The name of the host is in the headers. */
async function measureApplications({ kind, url, address, appHeaders }: Rig): Promise<Measurement[]> {
  const port = Number(new URL(url).port);
  const load = { method: 'GET', path: '/', clients: CLIENTS, requests: REQUESTS };
  const perSecond: number[] = [];
  const direct: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    perSecond.push((await runLoad({ ...load, port, headers: appHeaders })).perSecond);
    direct.push((await runLoad({ ...load, port: HTTP_PORT, address })).perSecond);
  }
  const both: Record<'forward' | 'bare', Way> = {
    forward: { by: 'http', address: '127.0.0.1', port, headers: appHeaders },
    bare: { by: 'http', address, port: HTTP_PORT, headers: {} },
  };
  const down = await byTurns(both, { kind: 'down', seconds: FLOW_S });
  const up = await byTurns(both, { kind: 'up', seconds: FLOW_S });
  const { requests, bodies } = goals[kind];
  const name = `web application on ${kind}`;
  return [
    {
      name: `${name}, requests of ${CLIENTS} clients (limit: direct)`,
      unit: '/s',
      figure: median(perSecond),
      limit: median(direct),
      goal: requests,
    },
    { name: `${name}, download (limit: direct)`, unit: 'MB/s', ...down('megabytesPerS'), goal: bodies },
    { name: `${name}, upload (limit: direct)`, unit: 'MB/s', ...up('megabytesPerS'), goal: bodies },
  ];
}

/** The medians of some rounds, by the name of the result. */
async function byTurns(ways: Record<'forward' | 'bare', Way>, flow: Pick<Flow, 'kind' | 'seconds'>) {
  const forward: FlowResult[] = [];
  const bare: FlowResult[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    forward.push(await runFlow({ ...flow, way: ways.forward }));
    bare.push(await runFlow({ ...flow, way: ways.bare }));
  }
  const medianOf = (results: FlowResult[], of: keyof FlowResult) => median(results.map((one) => one[of]));
  return (of: keyof FlowResult) => ({ figure: medianOf(forward, of), limit: medianOf(bare, of) });
}

async function withBareRelay<T>(use: (way: Way) => Promise<T>): Promise<T> {
  const file = 'tools/bench/streams/bare-relay.ts';
  const programs: Program[] = [startProgram([file, 'relay'])];
  try {
    const [, port = ''] = (await programs[0]?.waitFor(/^port (\d+)$/m)) ?? [];
    const end = startProgram([file, 'end', port]);
    programs.unshift(end);
    await end.waitFor(/^open$/m);
    return await use({ by: 'bare relay', port: Number(port) });
  } finally {
    for (const program of programs) await program.kill();
  }
}
