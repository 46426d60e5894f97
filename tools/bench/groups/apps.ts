/**
 * Measures web applications: small answers and large bodies by Berth, beside the container itself and beside
 * the bare relay, which carries HTTP in the same way and does nothing else.
 */
import type Docker from 'dockerode';
import { startProgram } from '../../../test/support/hosts/process.ts';
import { startBareRelay } from '../bare-relay.ts';
import { atLeast, type Both, byTurns, type Measurement } from '../figure.ts';
import { resultOf, runLoad } from '../load.ts';
import type { Body, BodyResult } from '../streams/body-program.ts';
import { HTTP_PORT, type Rig, withImage, withNode, withWorkerd } from '../streams/rig.ts';

const ROUNDS = 3;
const CLIENTS = 16;
/** The container answers so many times as fast. */
const CONTAINER_FACTOR = 4;
const MAX_BODY_MS = 120_000;

/** Parts of the container's own rate, and, for answers and bodies, of the relay's. */
const goals = {
  Node: { requests: 3_000, ofContainer: 0.25, bodyBytes: 1_000_000_000 },
  workerd: { requests: 1_500, ofContainer: 0.1, bodyBytes: 200_000_000 },
};
const OF_RELAY = 0.6;
/** So many times the requests of a round come before the first one. */
const WARM_UPS = 4;

export const measureApps = (docker: Docker): Promise<Measurement[]> =>
  withImage(docker, async () => [
    ...(await withNode(docker, measureApplication)),
    ...(await withWorkerd(docker, measureApplication)),
  ]);

/** By turns. The name of the application's host is in the headers. */
async function measureApplication({ kind, deployment, address, appHeaders }: Rig): Promise<Measurement[]> {
  const container = { address, port: HTTP_PORT };
  await using relay = await startBareRelay(kind, container);
  const { requests, ofContainer, bodyBytes } = goals[kind];
  const ways = {
    berth: { address: '127.0.0.1', port: Number(new URL(deployment.url).port), headers: appHeaders },
    relay: { address: '127.0.0.1', port: relay.port, headers: {} },
    container: { ...container, headers: {} },
  };
  const load = { method: 'GET', path: '/', clients: CLIENTS, requests };
  // Programs are compiled while they run: those that have just begun are slower.
  for (const way of Object.values(ways)) await runLoad({ ...load, ...way, requests: WARM_UPS * requests });
  const answered = await byTurns(ROUNDS, [
    () => runLoad({ ...load, ...ways.berth }),
    () => runLoad({ ...load, ...ways.relay }),
    () => runLoad({ ...load, ...ways.container, requests: CONTAINER_FACTOR * requests }),
  ]);
  const bodiesOf = (direction: Body['kind']) =>
    byTurns(ROUNDS, [
      () => runBody({ ...ways.berth, kind: direction, bytes: bodyBytes }),
      () => runBody({ ...ways.relay, kind: direction, bytes: bodyBytes }),
    ]);
  const down = await bodiesOf('down');
  const up = await bodiesOf('up');
  const small = `requests of ${CLIENTS} clients`;
  const size = `of ${bodyBytes / 1e6} MB (limit: bare relay)`;
  const ofLimit = (name: string, unit: string, both: Both, least: number): Measurement =>
    atLeast(`web application on ${kind}, ${name}`, unit, both, least);
  return [
    ofLimit(`${small} (limit: direct)`, '/s', answered('perSecond', 1), ofContainer),
    ofLimit(`${small} (limit: bare relay)`, '/s', answered('perSecond'), OF_RELAY),
    ofLimit(`download ${size}`, 'MB/s', down('megabytesPerS'), OF_RELAY),
    ofLimit(`upload ${size}`, 'MB/s', up('megabytesPerS'), OF_RELAY),
  ];
}

/** Runs the client in a process of its own. */
const runBody = (body: Body): Promise<BodyResult> =>
  resultOf(startProgram(['tools/bench/streams/body-program.ts', JSON.stringify(body)]), MAX_BODY_MS);
