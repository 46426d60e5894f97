/**
 * Measures requests per second of the API against a plain Hono server that makes the same insert or read on
 * the same engine: submissions with an empty and a long queue, and reads.
 */
import { startProgram } from '../../../test/support/hosts/process.ts';
import { queuedApplication } from '../application.ts';
import { Deployment } from '../deployment.ts';
import { atLeast, atMost, type Measurement, median } from '../figure.ts';
import { type Load, type LoadResult, runLoad } from '../load.ts';

const CLIENTS = 16;
const ROUNDS = 9;
const REQUESTS = 1_500;
/** Requests that are not counted, so that the compiler has optimised the server before the measurement. */
const WARM_UP = 6_000;
const LONG_QUEUE = 10_000;

interface Target {
  port: number;
  prefix: string;
  headers: Record<string, string>;
}

export async function measureHttp(): Promise<Measurement[]> {
  const deployment = await Deployment.start('bench-http', 'off');
  const id = await deployment.submit(queuedApplication());
  await deployment.request('DELETE', `execution/delete/${id}`);
  const server = startProgram(['tools/bench/programs/plain-server.ts']);
  const [, port] = await server.waitFor(/port (\d+)/);
  const plain: Target = { port: Number(port), prefix: '', headers: {} };
  const berth = {
    port: Number(new URL(deployment.url).port),
    prefix: '/api/0.7',
    headers: { cookie: deployment.cookie },
    basic: deployment.basic,
  };
  try {
    return await measure(berth, plain, id + 1);
  } finally {
    await server.stop();
    await deployment.stop();
  }
}

async function measure(
  berth: Target & { basic: string },
  plain: Target,
  firstId: number,
): Promise<Measurement[]> {
  let first = firstId;
  const submit = async (requests = REQUESTS) => {
    const result = await post(berth, requests);
    first += requests;
    return result;
  };
  const submitToEmptyQueue = async (requests = REQUESTS) => {
    const result = await submit(requests);
    await runLoad({ ...loadOf(berth, 'DELETE', '/execution/delete/{n}'), first: first - requests, requests });
    return result;
  };
  let inserted = 0;
  const limit = async (requests = REQUESTS) => {
    const result = await post(plain, requests);
    inserted += requests;
    return result;
  };
  await submitToEmptyQueue(WARM_UP);
  await limit(WARM_UP);
  const empty = await alternate(submitToEmptyQueue, limit);
  await submit(LONG_QUEUE);
  const long = await alternate(submit, limit);
  // Reads leave nothing behind, so their rounds may be long. Each round reads many executions, so that none
  // is cached.
  const firstReadOf = (target: Target) => (target === plain ? inserted + 1 : first) - WARM_UP;
  const get = (target: Target) =>
    runLoad({ ...loadOf(target, 'GET', '/execution/{n}'), first: firstReadOf(target), requests: WARM_UP });
  await get(berth);
  await get(plain);
  const read = await alternate(
    () => get(berth),
    () => get(plain),
  );
  // The first call logs in.
  const byBasic = { ...berth, headers: { authorization: berth.basic } };
  await get(byBasic);
  const basic = await alternate(
    () => get(byBasic),
    () => get(berth),
  );
  const info = (target: Target) => runLoad({ ...loadOf(target, 'GET', '/info'), requests: WARM_UP });
  await info(berth);
  await info(plain);
  const open = await alternate(
    () => info(berth),
    () => info(plain),
  );
  return [
    perSecond('POST execution, empty queue (limit: the same insert)', empty, 0.5),
    p99('its p99', empty),
    perSecond('POST execution, 10,000 queued', long, 0.5),
    p99('its p99', long),
    perSecond('GET execution/<id> (limit: the same read)', read, 0.6),
    perSecond('the same with Basic (limit: with a cookie)', basic, 0.7),
    perSecond('GET info', open, 0.8),
  ];
}

const loadOf = ({ port, prefix, headers }: Target, method: string, path: string): Load => ({
  port,
  method,
  path: prefix + path,
  headers,
  clients: CLIENTS,
  requests: REQUESTS,
});

function post(target: Target, requests: number): Promise<LoadResult> {
  const body = JSON.stringify({ name: 'bench', application: queuedApplication() });
  const headers = { ...target.headers, 'content-type': 'application/json' };
  return runLoad({ ...loadOf({ ...target, headers }, 'POST', '/execution'), requests, body });
}

interface Rounds {
  berth: LoadResult[];
  plain: LoadResult[];
}

async function alternate(
  berth: () => Promise<LoadResult>,
  plain: () => Promise<LoadResult>,
): Promise<Rounds> {
  const rounds: Rounds = { berth: [], plain: [] };
  for (let round = 0; round < ROUNDS; round++) {
    rounds.berth.push(await berth());
    rounds.plain.push(await plain());
  }
  return rounds;
}

const perSecond = (name: string, { berth, plain }: Rounds, minRatio: number): Measurement => ({
  name,
  unit: '/s',
  figure: median(berth.map((result) => result.perSecond)),
  limit: median(plain.map((result) => result.perSecond)),
  goal: atLeast(minRatio),
});

const p99 = (name: string, { berth, plain }: Rounds): Measurement => ({
  name,
  unit: 'ms',
  figure: median(berth.map((result) => result.p99Ms)),
  limit: median(plain.map((result) => result.p99Ms)),
  goal: atMost(100, 'figure'),
});
