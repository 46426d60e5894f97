/**
 * Entry point of `npm run bench [-- [--json] group ...]`: measures all groups or the named ones, and prints
 * each figure beside its limit and goal. A missed goal is shown but is not an error. Exits with 1 if a
 * measurement fails.
 */
import type Docker from 'dockerode';
import { connectEngine } from '../../agent/engine/engine-address.ts';
import { ensureEngine } from '../../agent/local/local-engine.ts';
import { terminal } from '../../agent/local/terminal.ts';
import { ensureImage } from '../../examples/image.ts';
import { type Measurement, type Result, resultOf, tableOf } from './figure.ts';
import { measureAgents } from './groups/agents.ts';
import { measureApps } from './groups/apps.ts';
import { measureBursts } from './groups/bursts.ts';
import { measureEdge } from './groups/edge.ts';
import { measureHistory } from './groups/history.ts';
import { measureHttp } from './groups/http.ts';
import { measureIsolate } from './groups/isolate.ts';
import { measureLogs } from './groups/logs.ts';
import { measureMemory } from './groups/memory.ts';
import { measureScheduler } from './groups/scheduler.ts';
import { measureSleep } from './groups/sleep.ts';
import { measureStart } from './groups/start.ts';
import { measureStorm } from './groups/storm.ts';
import { measureStreams } from './groups/streams.ts';
import { measureWeb } from './groups/web.ts';

const groups: Record<string, (docker: Docker) => Promise<Measurement[]>> = {
  memory: measureMemory,
  http: measureHttp,
  history: measureHistory,
  start: measureStart,
  logs: measureLogs,
  scheduler: measureScheduler,
  agents: measureAgents,
  bursts: measureBursts,
  storm: measureStorm,
  web: measureWeb,
  edge: measureEdge,
  sleep: measureSleep,
  isolate: measureIsolate,
  streams: measureStreams,
  apps: measureApps,
};

const words = process.argv.slice(2);
const named = words.filter((word) => word !== '--json');
const asJson = words.length > named.length;
const unknown = named.filter((name) => !Object.hasOwn(groups, name));
if (unknown.length > 0) {
  console.error(`Unknown group ${unknown.join(', ')}: the groups are ${Object.keys(groups).join(', ')}`);
  process.exit(1);
}

const engine = await ensureEngine(terminal);
process.env.DOCKER_HOST = engine.host;
try {
  const docker = connectEngine(engine.host);
  await ensureImage(docker);
  const results: Result[] = [];
  for (const [name, measure] of Object.entries(groups)) {
    if (named.length > 0 && !named.includes(name)) continue;
    terminal.say(`Measuring ${name}`);
    for (const measurement of await measure(docker)) results.push(resultOf(name, measurement));
  }
  console.log(asJson ? JSON.stringify(results, null, 2) : `\n${tableOf(results)}`);
} finally {
  await engine.stop();
}
