/** The cluster of the group `isolate`: workerd with little heap, its users, agents and clients. */
import * as z from 'zod';
import { type Program, startProgram } from '../../../test/support/hosts/process.ts';
import type { LimitedWorkerd } from '../../../test/support/hosts/workerd/limited-workerd.ts';
import { eventually } from '../../../test/support/tools/eventually.ts';
import { application } from '../application.ts';
import { cookieOf, PASSWORD } from '../deployment.ts';
import type { StormLoad } from '../groups/storm.ts';
import { runLoad } from '../load.ts';
import type { HeapWatch } from './heap-watch.ts';
import { openStreams, type StreamClients } from './stream-clients.ts';

export const NAME = 'bench-isolate';
export const USERS = 10;
export const EVENT_STREAMS = 50;
export const LOG_READERS = 20;
export const OUTPUT_BYTES_PER_S = 20_000;
/** Executions of the warm-up. They have ended. */
export const WARM_UP = 50;

/** Each user has as many; the administrator has the others. */
const STREAMS_OF_USER = 4;
/** Ten of the submitted services fill a host. */
const CORES = 1;
const WARM_UP_HOSTS = 5;
const SUBMITTERS = 16;
const JOIN_MS = 60_000;

export interface Rig {
  workerd: LimitedWorkerd;
  watch: HeapWatch;
  url: string;
  /** Session cookies. */
  admin: string;
  users: string[];
}

/** Throws unless the status is 200. */
export async function request(
  { url }: Pick<Rig, 'url'>,
  cookie: string,
  method: string,
  path: string,
  body?: unknown,
): Promise<string> {
  const init = body === undefined ? {} : { body: JSON.stringify(body) };
  const response = await fetch(`${url}/api/0.7/${path}`, { method, headers: { cookie }, ...init });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return text;
}

export async function prepare(workerd: LimitedWorkerd, watch: HeapWatch): Promise<Rig> {
  const url = workerd.url();
  const admin = await cookieOf(url, 'admin');
  const users: string[] = [];
  // What the administrator submits starts before what waits.
  await request({ url }, admin, 'POST', 'user/1', { priority: 10 });
  await request({ url }, admin, 'POST', 'quota/1', { concurrent_executions: 0, memory: 0, cores: 0 });
  for (let n = 0; n < USERS; n++) {
    const username = `user${n}`;
    const made = await request({ url }, admin, 'POST', 'user', { username, role_id: 3, quota_id: 1 });
    const { user_id } = z.object({ user_id: z.number() }).parse(JSON.parse(made));
    await request({ url }, admin, 'POST', `user/${user_id}`, { password: PASSWORD });
    users.push(await cookieOf(url, username));
  }
  return { workerd, watch, url, admin, users };
}

export function startAgents(
  { url, workerd }: Rig,
  agents: number,
  services: number,
  prefix: string,
  outputBytesPerS = OUTPUT_BYTES_PER_S,
): Program {
  const load: StormLoad = {
    url,
    deployment: NAME,
    databaseUrl: workerd.databaseUrl,
    agents,
    services,
    prefix,
    cores: CORES,
    outputBytesPerS,
  };
  return startProgram(['tools/bench/programs/storm-program.ts', JSON.stringify(load)]);
}

/** Submits executions of one service each. */
export async function submit({ url }: Rig, cookie: string, count: number): Promise<void> {
  await runLoad({
    port: Number(new URL(url).port),
    method: 'POST',
    path: '/api/0.7/execution',
    headers: { cookie, 'content-type': 'application/json' },
    body: JSON.stringify({ name: '{nowMs}', application: application() }),
    clients: SUBMITTERS,
    requests: count,
  });
}

/** A page reads its list again after `reset`, with which a stream begins that was opened again. */
export async function openEvents(rig: Rig): Promise<StreamClients> {
  const { admin, users } = rig;
  const ofUsers = users.flatMap((cookie) => Array.from({ length: STREAMS_OF_USER }, () => cookie));
  const rest = Array.from({ length: EVENT_STREAMS - ofUsers.length }, () => admin);
  const streams = [...ofUsers, ...rest].map((cookie) => ({ path: 'events', cookie }));
  const events = openStreams(rig.url, streams, ({ cookie }) =>
    request(rig, cookie, 'GET', 'execution?limit=20'),
  );
  await eventually(() => events.connected() === EVENT_STREAMS);
  return events;
}

/** Reads the logs of the executions from `first` on. */
export async function openLogs(rig: Rig, first: number, readers: number): Promise<StreamClients> {
  const streams = [];
  for (let id = first; id < first + readers; id++)
    streams.push({ path: `service/logs/${await serviceOf(rig, id)}`, cookie: rig.admin });
  const logs = openStreams(rig.url, streams);
  await eventually(() => logs.connected() === readers);
  return logs;
}

/** The only service of an execution. */
export async function serviceOf(rig: Rig, execution: number): Promise<number> {
  const { services } = z
    .object({ services: z.tuple([z.number()]) })
    .parse(JSON.parse(await request(rig, rig.admin, 'GET', `execution/${execution}`)));
  return services[0];
}

/** Does once what is measured later, so that code and caches do not count as objects. */
export async function warmUp(rig: Rig): Promise<void> {
  const agents = startAgents(rig, WARM_UP_HOSTS, WARM_UP, 'warm-up');
  try {
    await agents.waitFor(/^synced$/m, JOIN_MS);
    const events = await openEvents(rig);
    await submit(rig, rig.admin, WARM_UP);
    await agents.waitFor(/^runs$/m, JOIN_MS);
    const logs = await openLogs(rig, 1, LOG_READERS);
    await request(rig, rig.admin, 'GET', 'execution');
    for (let id = 1; id <= WARM_UP; id++) await request(rig, rig.admin, 'DELETE', `execution/${id}`);
    await eventually(async () => {
      const ended = await request(rig, rig.admin, 'GET', 'execution?status=terminated');
      return Object.keys(JSON.parse(ended)).length === WARM_UP;
    });
    await Promise.all([events.close(), logs.close()]);
  } finally {
    await agents.kill();
  }
  for (let id = 1; id <= WARM_UP_HOSTS; id++)
    await request(rig, rig.admin, 'DELETE', `host/${id}?force=true`);
}
