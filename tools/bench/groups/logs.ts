/**
 * Measures the cost of a service's output for its writer, the speed of reading it and how late a live line
 * is, against plain `docker run` and `docker logs`.
 */
import { once } from 'node:events';
import { connect } from 'node:net';
import type { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import type Docker from 'dockerode';
import { pauseOf } from '../../../agent/channels/channels.ts';
import { IMAGE } from '../../../examples/image.ts';
import { application } from '../application.ts';
import { Deployment } from '../deployment.ts';
import { atLeast, atMost, bounded, type Measurement, median, p99 } from '../figure.ts';
import { type Rig, TCP_PORT, withImage, withNode } from '../streams/rig.ts';

const BYTES = 200_000_000;
const ROUNDS = 3;
/** Fewer rounds, since reading the engine's own log takes 20 s and more. */
const PLAIN_READS = 2;
const NAME = 'bench-logs';

/** Output without a pause, and lines after a silence, with the longest wait of the agent for each. */
const LIVE = [
  { kind: 'of many', lines: 600, everyMs: 5, pollMs: pauseOf(1, 0) },
  { kind: 'after a silence', lines: 30, everyMs: 300, pollMs: 50 },
];
const LATER_MS = 5;
/** Until a stream has arrived at the present end of the output. */
const OPEN_MS = 500;

const writer = (bytes: number): string => `sh -c 'yes ${'x'.repeat(99)} | head -c ${bytes}'`;

export const measureLogs = async (docker: Docker): Promise<Measurement[]> => [
  ...(await measureOutput(docker)),
  ...(await withImage(docker, () => withNode(docker, (rig) => measureLines(docker, rig)))),
];

async function measureOutput(docker: Docker): Promise<Measurement[]> {
  await using deployment = await Deployment.start(NAME, 'on');
  await write(deployment, 100);
  await writePlain(docker, 100, 0);
  const berth: { writeS: number; readS: number }[] = [];
  const plain: { writeS: number; readS: number | undefined }[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    berth.push(await write(deployment, BYTES));
    plain.push(await writePlain(docker, BYTES, round < PLAIN_READS ? BYTES : 0));
  }
  const live = [await readLive(docker, deployment), await readLive(docker, deployment)];
  const writeS = median(berth.map((one) => one.writeS));
  const plainWriteS = median(plain.map((one) => one.writeS));
  const readRate = median(berth.map(({ readS }) => BYTES / 1e6 / readS));
  const plainReads = plain.flatMap(({ readS }) => (readS === undefined ? [] : [BYTES / 1e6 / readS]));
  return [
    atMost('a container writes 200 MB', 's', { figure: writeS, limit: plainWriteS }, 1.3),
    atLeast('reading this log back', 'MB/s', { figure: readRate, limit: median(plainReads) }, 3),
    bounded('end of a live log stream after its writer', 's', median(live), Math.max(1, writeS / 10)),
  ];
}

/** The same lines by Berth and by the engine's log API: how long after their writing they arrive. */
async function measureLines(docker: Docker, rig: Rig): Promise<Measurement[]> {
  const measured: Measurement[] = [];
  for (const { kind, lines, everyMs, pollMs } of LIVE) {
    const { body } = await rig.deployment.request('GET', `service/logs/${rig.service}`);
    if (!body) throw new Error('the log has no body');
    const options = { follow: true, stdout: true, tail: 0 } as const;
    const plain = (await docker.getContainer(rig.container).logs(options)) as Readable;
    await pause(OPEN_MS);
    const sinceMs = nowMs();
    const latencies = Promise.all([latenciesOf(body, lines, sinceMs), latenciesOf(plain, lines, sinceMs)]);
    const socket = connect(TCP_PORT, rig.address);
    await once(socket.end(`log ${lines} ${everyMs}\n`), 'connect');
    const [ofBerth, ofEngine] = await latencies;
    const name = `a live line ${kind}, p99, later than a poll of ${pollMs} ms (limit: docker logs)`;
    measured.push(bounded(name, 'ms', { figure: p99(ofBerth) - pollMs, limit: p99(ofEngine) }, LATER_MS));
  }
  return measured;
}

/** Reads the lines that service-program.ts has written since then. */
async function latenciesOf(
  output: AsyncIterable<Uint8Array>,
  lines: number,
  sinceMs: number,
): Promise<number[]> {
  const found: number[] = [];
  let text = '';
  for await (const bytes of output) {
    text += Buffer.from(bytes).toString('latin1');
    for (const [, at] of text.matchAll(/at ([\d.]+)\n/g))
      if (Number(at) >= sinceMs) found.push(nowMs() - Number(at));
    if (found.length >= lines) return found;
    text = text.slice(text.lastIndexOf('\n') + 1);
  }
  throw new Error(`the output has ended after ${found.length} of ${lines} lines`);
}

/** In the same clock as in a container. */
const nowMs = (): number => performance.timeOrigin + performance.now();

/** Measures from the submission to the end, and then the reading of the whole output through the API. */
async function write(deployment: Deployment, bytes: number): Promise<{ writeS: number; readS: number }> {
  const beginMs = performance.now();
  const id = await deployment.submit(application(writer(bytes)));
  const { services } = await deployment.reaches(id, 'terminated');
  const endMs = performance.now();
  await readLog(deployment, services[0], bytes);
  const readS = (performance.now() - endMs) / 1000;
  await deployment.request('DELETE', `execution/delete/${id}`);
  return { writeS: (endMs - beginMs) / 1000, readS };
}

/**
 * Does what `docker run --detach`, `docker wait` and `docker logs` do with the engine's default log driver,
 * through its API.
 */
async function writePlain(
  docker: Docker,
  bytes: number,
  readBytes: number,
): Promise<{ writeS: number; readS: number | undefined }> {
  const beginMs = performance.now();
  const container = await docker.createContainer({
    Image: IMAGE,
    Cmd: ['sh', '-c', `yes ${'x'.repeat(99)} | head -c ${bytes}`],
    HostConfig: { LogConfig: { Type: 'json-file', Config: {} } },
  });
  try {
    await container.start();
    await container.wait();
    const endMs = performance.now();
    const writeS = (endMs - beginMs) / 1000;
    if (readBytes === 0) return { writeS, readS: undefined };
    const stream = await container.logs({ follow: true, stdout: true, stderr: true });
    let received = 0;
    for await (const chunk of stream) received += chunk.length;
    if (received < readBytes) throw new Error(`the engine returned ${received} of ${readBytes} bytes`);
    return { writeS, readS: (performance.now() - endMs) / 1000 };
  } finally {
    await container.remove({ v: true, force: true });
  }
}

/** Seconds from the end of the writer's container to the end of a stream that was opened during its run. */
async function readLive(docker: Docker, deployment: Deployment): Promise<number> {
  const since = Math.floor(Date.now() / 1000);
  const id = await deployment.submit(application(writer(BYTES)));
  const { services } = await deployment.reaches(id, 'running');
  await readLog(deployment, services[0], BYTES);
  const endMs = Date.now();
  await deployment.reaches(id, 'terminated');
  const diedMs = await deathOf(docker, since);
  await deployment.request('DELETE', `execution/delete/${id}`);
  return (endMs - diedMs) / 1000;
}

/** Time at which the last container of the deployment ended. */
async function deathOf(docker: Docker, since: number): Promise<number> {
  const events = await docker.getEvents({
    since,
    until: Math.ceil(Date.now() / 1000),
    filters: { type: ['container'], event: ['die'], label: [`berth.deployment=${NAME}`] },
  });
  let diedMs = Number.NaN;
  let text = '';
  for await (const chunk of events) text += chunk;
  for (const line of text.trim().split('\n')) diedMs = Number(JSON.parse(line).timeNano) / 1e6;
  return diedMs;
}

/** Reads a service's whole output. Throws unless it has `bytes` bytes. */
async function readLog(deployment: Deployment, service: number | undefined, bytes: number): Promise<void> {
  const { body } = await deployment.request('GET', `service/logs/${service}`);
  let received = 0;
  for await (const chunk of body ?? []) received += chunk.length;
  if (received !== bytes) throw new Error(`the log has ${received} bytes instead of ${bytes}`);
}
