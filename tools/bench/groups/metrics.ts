/** Measures what scrapes of `GET /metrics` cost: submissions with and without one each second, by turns. */
import { queuedApplication } from '../application.ts';
import { Deployment } from '../deployment.ts';
import { atLeast, atMost, type Measurement, median } from '../figure.ts';
import { type LoadResult, runLoad } from '../load.ts';

const PAIRS = 10;
const CLIENTS = 16;
/** Some seconds, so that several scrapes fall into each measurement. */
const REQUESTS = 12_000;
const WARM_UP = 6_000;
const PERIOD_MS = 1_000;
/** What waits meanwhile. */
const QUEUED = 20_000;
const TOKEN = 'token-of-the-bench';

export async function measureMetrics(): Promise<Measurement[]> {
  const deployment = await Deployment.start('bench-metrics', 'off', { BERTH_METRICS: TOKEN });
  try {
    return await measure(deployment);
  } finally {
    await deployment.stop();
  }
}

async function measure(deployment: Deployment): Promise<Measurement[]> {
  let first = await deployment.submit(queuedApplication());
  first += 1;
  const post = (requests: number) => runLoad({ ...loadOf(deployment, 'POST', '/execution'), requests });
  await post(QUEUED);
  first += QUEUED;
  /** The queue is as long before each measurement. */
  const submit = async (requests: number, startBeside = () => () => {}): Promise<LoadResult> => {
    const result = await post(requests).finally(startBeside());
    await runLoad({ ...loadOf(deployment, 'DELETE', '/execution/delete/{n}'), first, requests });
    first += requests;
    return result;
  };
  await submit(WARM_UP);
  const scrapes: number[] = [];
  const alone = () => submit(REQUESTS);
  const scraped = () => submit(REQUESTS, () => startScraping(deployment.url, scrapes));
  const pairs: { without: number; with: number }[] = [];
  for (let pair = 0; pair < PAIRS; pair++) {
    // By turns, since each measurement begins with the garbage of the one before.
    const [one, other] = pair % 2 === 0 ? [alone, scraped] : [scraped, alone];
    const [a, b] = [(await one()).perSecond, (await other()).perSecond];
    pairs.push(pair % 2 === 0 ? { without: a, with: b } : { without: b, with: a });
  }
  return [
    {
      ...{ name: `POST with a scrape each second: median of ${PAIRS} pairs`, unit: 'x' },
      figure: median(pairs.map((pair) => pair.with / pair.without)),
      goal: atLeast(0.97, 'figure'),
    },
    {
      ...{ name: 'its rate (limit: without scrapes)', unit: '/s' },
      figure: median(pairs.map((pair) => pair.with)),
      limit: median(pairs.map((pair) => pair.without)),
      goal: atLeast(0.97),
    },
    {
      ...{ name: `a scrape meanwhile, ${QUEUED} executions waiting`, unit: 'ms' },
      figure: median(scrapes),
      goal: atMost(100, 'figure'),
    },
  ];
}

/** Adds the duration of each scrape to `durationsMs`. Returns a function that ends it. */
function startScraping(url: string, durationsMs: number[]): () => void {
  const scrape = async () => {
    const beganMs = performance.now();
    const answer = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${TOKEN}` } });
    if (!answer.ok) throw new Error(`GET /metrics: ${answer.status}`);
    await answer.text();
    durationsMs.push(performance.now() - beganMs);
  };
  const timer = setInterval(() => void scrape(), PERIOD_MS);
  void scrape();
  return () => clearInterval(timer);
}

const loadOf = ({ url, cookie }: Deployment, method: 'POST' | 'DELETE', path: string) => ({
  ...{ port: Number(new URL(url).port), method, path: `/api/0.7${path}`, clients: CLIENTS },
  headers: { cookie, 'content-type': 'application/json' },
  ...(method === 'POST' && { body: JSON.stringify({ name: 'bench', application: queuedApplication() }) }),
});
