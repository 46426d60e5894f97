/** Services that fill the disk of their host, a file system of 2 GiB with the data of engine and agent. */
import { statfs } from 'node:fs/promises';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { IMAGE } from '../../../examples/image.ts';
import { type Cluster, startCluster } from '../../support/cluster/cluster.ts';
import { application, script } from '../../support/fixtures/descriptions.ts';
import { eventually } from '../../support/tools/eventually.ts';

const GIB = 2 ** 30;
const DISK_BYTES = 2 * GIB;
/** An image with a volume, which the engine makes anew for each container. */
const WITH_VOLUME = 'berth/volume:1';
const REASON =
  /^service main0: ended by its host, whose disk was nearly full \(.* MiB left\): it had written .* [MG]iB, the most of all services$/;

let cluster: Cluster;

beforeAll(async () => {
  cluster = await startCluster({ deployment: 'e2e-disk', hosts: [{ name: 'one', diskBytes: DISK_BYTES }] });
  const { docker } = cluster.host('one');
  const container = await docker.createContainer({ Image: IMAGE, Cmd: ['true'] });
  const [repo, tag] = WITH_VOLUME.split(':');
  await container.commit({ repo, tag, changes: 'VOLUME /data' });
  await container.remove();
});

afterAll(() => cluster?.close());

const freeBytes = async (): Promise<number> => {
  const { bavail, bsize } = await statfs(cluster.host('one').folder);
  return bavail * bsize;
};

/** Ignores SIGTERM, and writes into a new file when the disk refuses more. */
const fill = (folder: string): string =>
  `trap : TERM; i=0; while :; do i=$((i+1)); cat /dev/zero > ${folder}/$i; done`;

test('P145, C216: a service that writes files without end is ended with the reason, and its neighbour runs on', {
  timeout: 150_000,
}, async () => {
  const { api } = cluster;
  const loop = 'while [ ! -e /stop ]; do date > /now || exit 9; echo here; sleep 0.1; done; exit 3';
  const kept = 'dd if=/dev/zero of=/kept bs=1M count=100';
  const neighbour = await api.run(application(script(`${kept}; ${loop}`)));

  let leastFree = DISK_BYTES;
  const watching = setInterval(async () => {
    leastFree = Math.min(leastFree, await freeBytes());
  }, 50);
  onTestFinished(() => clearInterval(watching));
  for (const attack of [script(fill('/tmp')), script(fill('/data'), { image: WITH_VOLUME })]) {
    const id = await api.submit(application(attack));
    expect((await api.waitFor(id, 'error', 60_000)).error_message).toMatch(REASON);
    expect(await cluster.containersOf(id)).toEqual({});
    await eventually(async () => (await freeBytes()) > DISK_BYTES / 2);
  }
  expect(leastFree).toBeGreaterThan(0);

  // The host takes services again.
  await api.waitFor(await api.submit(application(script('echo fine > /file'))), 'terminated', 60_000);

  const { main0 } = await cluster.containersOf(neighbour);
  expect(main0).toMatchObject({ state: 'running', generation: '1' });
  await cluster.host('one').exec(main0?.id, 'touch', '/stop');
  expect((await api.waitFor(neighbour, 'error')).error_message).toBe('service main0 ended with exit code 3');
  expect(await api.logText(neighbour)).toMatch(/(here\n)+$/);
});
