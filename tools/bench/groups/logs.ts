/**
 * Measures the cost of a service's output for its writer and the speed of reading it, against plain `docker
 * run` and `docker logs`.
 */
import type Docker from 'dockerode';
import { IMAGE } from '../../../examples/image.ts';
import { application } from '../application.ts';
import { Deployment } from '../deployment.ts';
import { atLeast, atMost, bounded, type Measurement, median } from '../figure.ts';

const BYTES = 200_000_000;
const ROUNDS = 3;
/** Fewer rounds, since reading the engine's own log takes 20 s and more. */
const PLAIN_READS = 2;
const NAME = 'bench-logs';

const writer = (bytes: number): string => `sh -c 'yes ${'x'.repeat(99)} | head -c ${bytes}'`;

export async function measureLogs(docker: Docker): Promise<Measurement[]> {
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
