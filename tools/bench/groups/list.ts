/** Measures the list of executions on a large database: with filters and a limit, and complete. */
import { Deployment } from '../deployment.ts';
import { atMost, type Measurement, median } from '../figure.ts';
import { runLoad } from '../load.ts';
import { addMany, addUsers, FIRST_MS } from '../many.ts';

const WHOLE = 10_000;
const ALL = 100_000;
const CLIENTS = 2;
const REQUESTS = 500;
const ROUNDS = 5;
const LATER = FIRST_MS / 1_000 + ALL;

/** From filters that stop after 20 index entries to filters that must scan a whole index. */
const filters: readonly [name: string, query: string][] = [
  ['limit=20 alone', ''],
  ['a status', '&status=error'],
  ['a user and a status', '&user_id=7&status=error'],
  ['a user, ended earlier', `&user_id=7&earlier_than_end=${LATER - ALL / 2}`],
  ['a name', '&name=name-7'],
  ['a name that does not occur', '&name=nobody'],
  ['submitted between', `&later_than_submit=${LATER - ALL / 2}&earlier_than_submit=${LATER - ALL / 3}`],
  ['started earlier than half', `&earlier_than_start=${LATER - ALL / 2}`],
  ['ended later than all', `&later_than_end=${LATER + ALL}`],
];

export async function measureList(): Promise<Measurement[]> {
  const deployment = await Deployment.start('bench-list', 'off');
  try {
    await addUsers(deployment.databaseUrl);
    await addMany(deployment.databaseUrl, 1, WHOLE);
    const whole: number[] = [];
    for (let round = 0; round < ROUNDS; round++) whole.push(await wholeListMs(deployment));
    await addMany(deployment.databaseUrl, WHOLE + 1, ALL);
    const measurements: Measurement[] = [
      { name: 'list of 10,000', unit: 'ms', figure: median(whole), goal: atMost(500, 'figure') },
    ];
    for (const [name, query] of filters) {
      const figure = await limitedP99Ms(deployment, query);
      measurements.push({
        name: `20 of 100,000: ${name}, p99`,
        unit: 'ms',
        figure,
        goal: atMost(20, 'figure'),
      });
    }
    return measurements;
  } finally {
    await deployment.stop();
  }
}

async function wholeListMs(deployment: Deployment): Promise<number> {
  const startMs = performance.now();
  const list = await (await deployment.request('GET', 'execution')).text();
  const ms = performance.now() - startMs;
  const found = Object.keys(JSON.parse(list)).length;
  if (found !== WHOLE) throw new Error(`the list has ${found} executions instead of ${WHOLE}`);
  return ms;
}

async function limitedP99Ms({ url, cookie }: Deployment, query: string): Promise<number> {
  const load = {
    port: Number(new URL(url).port),
    method: 'GET',
    path: `/api/0.7/execution?limit=20${query}`,
    headers: { cookie },
    clients: CLIENTS,
    requests: REQUESTS,
  };
  await runLoad({ ...load, requests: REQUESTS / 10 });
  return (await runLoad(load)).p99Ms;
}
