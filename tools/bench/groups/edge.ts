/**
 * Measures the control plane on workerd beside a database that is 40 ms away: rates, and the heap of its
 * isolates.
 */
import { heapsMb } from '../../../test/support/hosts/isolate-heap.ts';
import { freePort } from '../../../test/support/hosts/port.ts';
import { queuedApplication } from '../application.ts';
import { Deployment } from '../deployment.ts';
import { startDistantDatabase } from '../distant-database.ts';
import { atLeast, bounded, byTurns, floored, type Measurement, median } from '../figure.ts';
import { type Load, type LoadResult, runLoad } from '../load.ts';

const ROUNDS = 3;
const WARM_UP = 1_000;

/** What 64 clients reach whose submissions take 1.5 round trips is 1,067/s. */
const POSTS_PER_S = 900;

type Requests = Omit<Load, 'requests' | 'clients'>;

/** One read by its id, as a client sends it that asks the server itself. */
const select = (url: string, id: number): Requests => ({
  port: Number(new URL(url).port),
  method: 'POST',
  path: '/v2/pipeline',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({
    requests: [
      { type: 'execute', stmt: { sql: `SELECT * FROM executions WHERE id = ${id}` } },
      { type: 'close' },
    ],
  }),
});

export async function measureEdge(): Promise<Measurement[]> {
  await using database = await startDistantDatabase();
  const { distantUrl } = database;
  const inspector = `127.0.0.1:${await freePort()}`;
  const settings = { BERTH_DATABASE_URL: distantUrl };
  const options = { args: [`--inspector-addr=${inspector}`] };
  await using deployment = await Deployment.onWorkerd('bench-edge', settings, [], options);
  const id = await deployment.submit(queuedApplication());
  const get = deployment.load('GET', `execution/${id}`, 0);
  const post = deployment.submissions(0);
  const read = select(distantUrl, id);
  const reads = await byTurns(ROUNDS, [await warm(64, get), await warm(64, read)]);
  const name = 'GET of 64 clients, at 40 ms (limit: the same read of the server)';
  return [
    atLeast(name, '/s', reads('perSecond'), 0.6),
    floored('POST of 64 clients, at 40 ms', '/s', await rate(64, post), POSTS_PER_S),
    floored('POST of 256 clients, at 40 ms', '/s', await rate(256, post), 1_500),
    bounded('heap of the isolates afterwards', 'MB', Math.max(...(await heapsMb(inspector)).values()), 128),
  ];
}

/** Warms up. Returns what measures requests per second. */
async function warm(clients: number, one: Requests): Promise<() => Promise<LoadResult>> {
  await runLoad({ ...one, clients, requests: WARM_UP });
  return () => runLoad({ ...one, clients, requests: clients * 40 });
}

async function rate(clients: number, one: Requests): Promise<number> {
  const measure = await warm(clients, one);
  const rates: number[] = [];
  for (let round = 0; round < ROUNDS; round++) rates.push((await measure()).perSecond);
  return median(rates);
}
