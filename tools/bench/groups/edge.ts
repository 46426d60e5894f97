/**
 * Measures the control plane on workerd beside a database that is 40 ms away: rates, and the heap of its
 * isolates.
 */
import { heapsMb } from '../../../test/support/hosts/isolate-heap.ts';
import { freePort } from '../../../test/support/hosts/port.ts';
import { queuedApplication } from '../application.ts';
import { Deployment } from '../deployment.ts';
import { withDistantDatabase } from '../distant-database.ts';
import { atLeast, bounded, type Goal, type Measurement, median } from '../figure.ts';
import { type Load, runLoad } from '../load.ts';

const ROUNDS = 3;
const WARM_UP = 1_000;

/** What 64 clients reach whose submissions take 1.5 round trips is 1,067/s. */
const goals = {
  get: atLeast(0.6),
  post: atLeast(900, 'figure'),
  postOfMany: atLeast(1_500, 'figure'),
};

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

export const measureEdge = (): Promise<Measurement[]> =>
  withDistantDatabase(async ({ distantUrl }) => {
    const inspector = `127.0.0.1:${await freePort()}`;
    const settings = { BERTH_DATABASE_URL: distantUrl };
    const options = { args: [`--inspector-addr=${inspector}`] };
    const deployment = await Deployment.onWorkerd('bench-edge', settings, [], options);
    try {
      const id = await deployment.submit(queuedApplication());
      const get = deployment.load('GET', `execution/${id}`, 0);
      const post = deployment.submissions(0);
      const read = select(distantUrl, id);
      return [
        await rate(
          'GET of 64 clients, at 40 ms (limit: the same read of the server)',
          64,
          get,
          goals.get,
          read,
        ),
        await rate('POST of 64 clients, at 40 ms', 64, post, goals.post),
        await rate('POST of 256 clients, at 40 ms', 256, post, goals.postOfMany),
        bounded(
          'heap of the isolates afterwards',
          'MB',
          Math.max(...(await heapsMb(inspector)).values()),
          128,
        ),
      ];
    } finally {
      await deployment.stop();
    }
  });

/** Requests per second, by turns with those of the limit. */
async function rate(
  name: string,
  clients: number,
  one: Requests,
  goal: Goal,
  limit?: Requests,
): Promise<Measurement> {
  const both = limit ? [one, limit] : [one];
  const rates: number[][] = both.map(() => []);
  for (const requests of both) await runLoad({ ...requests, clients, requests: WARM_UP });
  for (let round = 0; round < ROUNDS; round++)
    for (const [at, requests] of both.entries())
      rates[at]?.push((await runLoad({ ...requests, clients, requests: clients * 40 })).perSecond);
  const [figure = Number.NaN, ofLimit] = rates.map(median);
  return { name, unit: '/s', figure, ...(ofLimit !== undefined && { limit: ofLimit }), goal };
}
