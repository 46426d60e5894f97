/**
 * Measures requests of the API: their rates on Node against a plain Hono server that makes the same insert
 * or read on the same engine, also while `/metrics` is scraped, and the processor time of one on both hosts.
 */
import { startProgram } from '../../../test/support/hosts/process.ts';
import { basic, Deployment } from '../deployment.ts';
import { atLeast, type Both, bounded, byTurns, type Measurement, median } from '../figure.ts';
import { type Load, type LoadResult, runLoad } from '../load.ts';

const CLIENTS = 16;
const ROUNDS = 9;
const REQUESTS = 1_500;
/** Requests that are not counted, so that the compiler has optimised the server before the measurement. */
const WARM_UP = 6_000;
const LONG_QUEUE = 10_000;
/** Some seconds, so that several scrapes fall into each measurement. */
const SCRAPED_REQUESTS = 12_000;
const SCRAPE_MS = 1_000;
const TOKEN = 'token-of-the-bench';

export async function measureHttp(): Promise<Measurement[]> {
  await using node = await Deployment.start('bench-http', 'off', { BERTH_METRICS: TOKEN });
  await using server = startProgram(['tools/bench/programs/plain-server.ts']);
  const [, port] = await server.waitFor(/port (\d+)/);
  const onNode = await measureNode(new Server(node), new Server(node, Number(port)));
  return [...onNode, ...(await measureProcessor('Node')), ...(await measureProcessor('workerd'))];
}

/** Berth, or the plain server at a port of its own, and the executions that it has been sent. */
class Server {
  readonly deployment: Deployment;
  readonly #port: number | undefined;
  #last = 0;

  constructor(deployment: Deployment, port?: number) {
    this.deployment = deployment;
    this.#port = port;
  }

  async post(requests = REQUESTS): Promise<LoadResult> {
    const result = await runLoad({ ...this.#load(this.deployment.submissions(CLIENTS)), requests });
    this.#last += requests;
    return result;
  }

  /** Leaves the queue as it was. */
  async postAndDelete(requests = REQUESTS): Promise<LoadResult> {
    const result = await this.post(requests);
    const load = this.#load(this.deployment.load('DELETE', 'execution/delete/{n}', CLIENTS));
    await runLoad({ ...load, first: this.#last - requests + 1, requests });
    return result;
  }

  /** Reads many executions, so that none is cached. Reads leave nothing behind: their rounds may be long. */
  get(path = 'execution/{n}', changes: Partial<Load> = {}): Promise<LoadResult> {
    const load = this.#load(this.deployment.load('GET', path, CLIENTS));
    return runLoad({ ...load, first: this.#last - WARM_UP + 1, requests: WARM_UP, ...changes });
  }

  #load(load: Omit<Load, 'requests'>): Omit<Load, 'requests'> {
    if (this.#port === undefined) return load;
    return { ...load, port: this.#port, path: load.path.replace('/api/0.7', '') };
  }
}

async function measureNode(berth: Server, plain: Server): Promise<Measurement[]> {
  const withBasic = { headers: { authorization: basic('admin') } };
  await berth.postAndDelete(WARM_UP);
  await plain.post(WARM_UP);
  const empty = await byTurns(ROUNDS, [() => berth.postAndDelete(), () => plain.post()]);
  await berth.post(LONG_QUEUE);
  const long = await byTurns(ROUNDS, [() => berth.post(), () => plain.post()]);
  await berth.get();
  await plain.get();
  const read = await byTurns(ROUNDS, [() => berth.get(), () => plain.get()]);
  // The first call logs in.
  await berth.get(undefined, withBasic);
  const byBasic = await byTurns(ROUNDS, [() => berth.get(undefined, withBasic), () => berth.get()]);
  const info = await byTurns(ROUNDS, [() => berth.get('info'), () => plain.get('info')]);
  const scrapes: number[] = [];
  const scraped = await byTurns(ROUNDS, [
    () => whileScraped(berth, scrapes),
    () => berth.postAndDelete(SCRAPED_REQUESTS),
  ]);
  return [
    perSecond('POST execution, empty queue (limit: the same insert)', empty, 0.5),
    p99Of('its p99', empty),
    perSecond('POST execution, 10,000 queued', long, 0.5),
    p99Of('its p99', long),
    perSecond('POST execution with a scrape of /metrics each second (limit: without)', scraped, 0.97),
    bounded('a scrape meanwhile', 'ms', median(scrapes), 100),
    perSecond('GET execution/<id> (limit: the same read)', read, 0.6),
    perSecond('the same with Basic (limit: with a cookie)', byBasic, 0.7),
    perSecond('GET info', info, 0.8),
  ];
}

/** Adds the duration of each scrape to `durationsMs`. */
async function whileScraped(berth: Server, durationsMs: number[]): Promise<LoadResult> {
  const scrape = async () => {
    const beganMs = performance.now();
    const headers = { authorization: `Bearer ${TOKEN}` };
    const answer = await fetch(`${berth.deployment.url}/metrics`, { headers });
    if (!answer.ok) throw new Error(`GET /metrics: ${answer.status}`);
    await answer.text();
    durationsMs.push(performance.now() - beganMs);
  };
  const timer = setInterval(() => void scrape(), SCRAPE_MS);
  return await berth.postAndDelete(SCRAPED_REQUESTS).finally(() => clearInterval(timer));
}

/** On workerd, the database is a process of its own, whose time does not count. */
async function measureProcessor(kind: 'Node' | 'workerd'): Promise<Measurement[]> {
  await using deployment = await (kind === 'Node'
    ? Deployment.start('bench-processor', 'off')
    : Deployment.onWorkerd('bench-processor'));
  const server = new Server(deployment);
  await server.postAndDelete(WARM_UP);
  const post = await deployment.processorMsOf(() => server.post(WARM_UP));
  await server.get();
  const get = await deployment.processorMsOf(() => server.get());
  return [
    bounded(`processor time of POST execution on ${kind}`, 'ms', post / WARM_UP, 0.42),
    bounded(`processor time of GET execution on ${kind}`, 'ms', get / WARM_UP, 0.55),
  ];
}

type Medians = (of: keyof LoadResult) => Both;

const perSecond = (name: string, medians: Medians, minRatio: number): Measurement =>
  atLeast(name, '/s', medians('perSecond'), minRatio);

const p99Of = (name: string, medians: Medians): Measurement => bounded(name, 'ms', medians('p99Ms'), 100);
