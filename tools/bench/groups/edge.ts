/**
 * Measures the control plane beside a database that is 40 ms away: rates and the heap of workerd's isolates.
 * workerd runs the bundle for Cloudflare itself.
 */
import { heapsMb } from '../../../test/support/hosts/isolate-heap.ts';
import { freePort } from '../../../test/support/hosts/port.ts';
import { startLimitedWorkerd } from '../../../test/support/hosts/workerd/limited-workerd.ts';
import { queuedApplication } from '../application.ts';
import { PASSWORD, ROOM } from '../deployment.ts';
import { withDistantDatabase } from '../distant-database.ts';
import { type EdgeLimits, startEdgeLimits } from '../edge-limits.ts';
import { atLeast, atMost, type Goal, type Measurement, median } from '../figure.ts';
import { type Load, runLoad } from '../load.ts';

const ROUNDS = 3;
const WARM_UP = 1_000;
/** What 64 clients reach whose submissions take 1.5 round trips is 1,067/s. */
const POSTS_PER_SECOND = 900;

export async function measureEdge(): Promise<Measurement[]> {
  const measurements: Measurement[] = [];
  for (const place of places) measurements.push(...(await place()));
  return measurements;
}

const places = [
  () => withDistantDatabase(({ serverUrl, distantUrl }) => rates(serverUrl, distantUrl, 'at 40 ms')),
  () => withDistantDatabase(({ serverUrl }) => rates(serverUrl, serverUrl, 'without delay')),
];

const settings = (databaseUrl: string): Record<string, string> => ({
  BERTH_DATABASE_URL: databaseUrl,
  BERTH_ADMIN_PASSWORD: PASSWORD,
  BERTH_LIMITS: JSON.stringify(ROOM),
});

/** Each login by the form opens a new session. */
async function byCookie(url: string): Promise<{ cookie: string }> {
  const body = new URLSearchParams({ username: 'admin', password: PASSWORD });
  const { headers } = await fetch(`${url}/login`, { method: 'POST', body, redirect: 'manual' });
  const session = headers.getSetCookie().find((one) => one.startsWith('berth_session='));
  if (session === undefined) throw new Error(`${url}/login opened no session`);
  return { cookie: session.split(';')[0] ?? '' };
}

async function rates(serverUrl: string, databaseUrl: string, where: string): Promise<Measurement[]> {
  const inspector = `127.0.0.1:${await freePort()}`;
  const workerd = await startLimitedWorkerd([], settings(databaseUrl), {
    args: [`--inspector-addr=${inspector}`],
  });
  const headers = await byCookie(workerd.url());
  const example = await exampleOf(workerd.url(), headers);
  const limits = await startEdgeLimits(serverUrl, databaseUrl, example);
  try {
    const measured = await measureRates(workerd.url(), headers, limits, serverUrl, where);
    const heaps = [...(await heapsMb(inspector)).values()];
    const heap = {
      name: `heap of the isolates afterwards, ${where}`,
      unit: 'MB',
      figure: Math.max(...heaps),
    };
    return [...measured, { ...heap, goal: atMost(128, 'figure') }];
  } finally {
    await limits.stop();
    await workerd.stop();
  }
}

/** Submits execution 1 and returns its text. */
async function exampleOf(url: string, headers: Record<string, string>): Promise<string> {
  await fetch(`${url}/api/0.7/execution`, { method: 'POST', headers, body: SUBMISSION });
  return (await fetch(`${url}/api/0.7/execution/1`, { headers })).text();
}

const SUBMISSION = JSON.stringify({ name: 'bench', application: queuedApplication() });
const SELECT = JSON.stringify({
  requests: [
    { type: 'execute', stmt: { sql: 'SELECT body FROM limit_rows WHERE id = 1' } },
    { type: 'close' },
  ],
});

async function measureRates(
  url: string,
  headers: Record<string, string>,
  limits: EdgeLimits,
  serverUrl: string,
  where: string,
): Promise<Measurement[]> {
  const berth = (method: string, path: string, body = '') =>
    loadOf(url, method, `/api/0.7/${path}`, { ...headers, 'content-type': 'application/json' }, body);
  const json = { 'content-type': 'application/json' };
  const limit = (method: string, path: string, body = '') => loadOf(limits.url, method, path, json, body);
  const get = berth('GET', 'execution/1');
  const post = berth('POST', 'execution', SUBMISSION);
  const insert = limit('POST', '/insert', SUBMISSION);
  const server = loadOf(serverUrl, 'POST', '/v2/pipeline', json, SELECT);
  const is = (name: string) => `${name}, ${where}`;
  return [
    await rate(is('GET of 64 clients (limit: one call)'), 64, get, limit('GET', '/read/1'), atLeast(0.8)),
    await rate(is('the same (limit: from memory)'), 64, get, limit('GET', '/memory'), atLeast(0.1)),
    await rate(is('the same (limit: the server alone)'), 64, get, server, atLeast(0.1)),
    await rate(
      is('POST of 64 clients (limit: the same insert)'),
      64,
      post,
      insert,
      atLeast(POSTS_PER_SECOND, 'figure'),
    ),
    await rate(is('POST of 256 clients (limit: the same insert)'), 256, post, insert, atLeast(0.6)),
  ];
}

type Kind = Omit<Load, 'clients' | 'requests'>;

const loadOf = (
  url: string,
  method: string,
  path: string,
  headers: Record<string, string>,
  body: string,
): Kind => ({ port: Number(new URL(url).port), method, path, headers, body });

/** Requests per second of both, alternately. */
async function rate(name: string, clients: number, one: Kind, limit: Kind, goal: Goal): Promise<Measurement> {
  const perSecond = async (kind: Kind) =>
    (await runLoad({ ...kind, clients, requests: clients * 40 })).perSecond;
  await runLoad({ ...one, clients, requests: WARM_UP });
  await runLoad({ ...limit, clients, requests: WARM_UP });
  const figures: number[] = [];
  const limits: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    figures.push(await perSecond(one));
    limits.push(await perSecond(limit));
  }
  return { name, unit: '/s', figure: median(figures), limit: median(limits), goal };
}
