/** Round trips to a distant database that each kind of request takes: its latency beside that of one. */
import * as z from 'zod';
import { queuedApplication } from './application.ts';
import { atMost, type Measurement, median } from './figure.ts';

export const ROUND_TRIP_MS = 40;
const SAMPLES = 15;

export interface EdgeTarget {
  url: string;
  /** Headers with a new session or token of the administrator. */
  newHeaders(url: string): Promise<Record<string, string>>;
}

export async function measureRoundTrips(where: string, target: EdgeTarget): Promise<Measurement[]> {
  const requests = new Requests(target.url, await target.newHeaders(target.url));
  const id = await requests.submit();
  const { services } = z
    .object({ services: z.array(z.number()) })
    .parse(JSON.parse(await requests.send('GET', `execution/${id}`)));
  const isB = (await requests.status('GET', 'user')) === 200;
  const reads: [name: string, path: string][] = [
    ['GET execution', `execution/${id}`],
    ['list', 'execution'],
    ['list by status', 'execution?status=running'],
    ['a page of the list', 'execution?limit=20'],
    ['service', `service/${services[0]}`],
  ];
  if (isB)
    reads.push(
      ['endpoints', `execution/endpoints/${id}`],
      ['explain', `execution/${id}/explain`],
      ['users', 'user'],
    );
  const measured: Measurement[] = [];
  const add = async (name: string, most: number, prepare: () => Promise<() => Promise<unknown>>) => {
    const latencies: number[] = [];
    for (let sample = 0; sample < SAMPLES; sample++) {
      const run = await prepare();
      const startMs = performance.now();
      await run();
      latencies.push(performance.now() - startMs);
    }
    measured.push({
      name: `${name}: round trips, ${where}`,
      unit: 'ms',
      figure: median(latencies),
      limit: ROUND_TRIP_MS,
      goal: atMost(most),
    });
  };
  for (const [name, path] of reads) await add(name, 1.25, async () => () => requests.send('GET', path));
  await add('POST execution', 1.5, async () => () => requests.submit());
  await add('POST by a new credential', 2.25, async () => {
    const stranger = new Requests(target.url, await target.newHeaders(target.url));
    return () => stranger.submit();
  });
  await add('terminate', 1.5, async () => {
    const submitted = await requests.submit();
    return () => requests.send('DELETE', `execution/${submitted}`);
  });
  await add('delete of what has ended', 2.25, async () => {
    const submitted = await requests.submit();
    await requests.send('DELETE', `execution/${submitted}`);
    return () => requests.send('DELETE', `execution/delete/${submitted}`);
  });
  return measured;
}

class Requests {
  readonly #url: string;
  readonly #headers: Record<string, string>;

  constructor(url: string, headers: Record<string, string>) {
    this.#url = url;
    this.#headers = headers;
  }

  async submit(): Promise<number> {
    const body = JSON.stringify({ name: 'bench', application: queuedApplication() });
    const answer = await this.send('POST', 'execution', body);
    return z.object({ execution_id: z.number() }).parse(JSON.parse(answer)).execution_id;
  }

  async send(method: string, path: string, body?: string): Promise<string> {
    const response = await this.#request(method, path, body);
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text;
  }

  async status(method: string, path: string): Promise<number> {
    const response = await this.#request(method, path);
    await response.arrayBuffer();
    return response.status;
  }

  #request(method: string, path: string, body?: string): Promise<Response> {
    const init = { method, headers: this.#headers, ...(body !== undefined && { body }) };
    return fetch(`${this.#url}/api/0.7/${path}`, init);
  }
}
