/** Measures the memory of control plane and agent while 1 GiB passes through one stream. */
import { setTimeout as pause } from 'node:timers/promises';
import { ClientStream } from '../../../client/streams.ts';
import { application } from '../application.ts';
import { type Deployment, PASSWORD } from '../deployment.ts';
import { atMost, type Measurement } from '../figure.ts';
import { end, type Rig, run } from './rig.ts';

const GIB = 2 ** 30;
const SAMPLE_MS = 100;
const COPY = '/tmp/zeros';
const CHUNK = Buffer.alloc(64 * 1024);

export async function measureCopies(rig: Rig, deployment: Deployment): Promise<Measurement[]> {
  // A file without blocks, so that the disk has no part in it. The other service's image has no tar.
  const made = await run(rig, application(`sh -c 'truncate -s ${GIB} ${COPY} && exec sleep 1000'`));
  const url = new URL(`${rig.url}/native/api/0.7/service/${made.service}/files`);
  const call = { method: 'GET', url, credentials: { username: 'admin', password: PASSWORD } } as const;
  try {
    const out = await growth(deployment, async () => {
      const stream = await ClientStream.open(call, { type: 'files-out', path: COPY, form: 'file' });
      let bytes = 0;
      for await (const part of stream.output()) bytes += part.length;
      if (bytes !== GIB || stream.exitCode !== 0) throw new Error(`the copy has ${bytes} bytes`);
    });
    const into = await growth(deployment, async () => {
      const opening = { type: 'files-in', path: '/tmp', name: 'copy', bytes: GIB } as const;
      const stream = await ClientStream.open(call, opening);
      for (let left = GIB; left > 0; left -= CHUNK.length) await stream.write(CHUNK);
      stream.end();
      for await (const _ of stream.output());
      if (stream.exitCode !== 0) throw new Error('the copy has failed');
    });
    const name = 'growth of control plane and agent while 1 GiB is copied';
    return [
      { name: `${name} out of a service`, unit: 'MB', figure: out, goal: atMost(100, 'figure') },
      { name: `${name} into it`, unit: 'MB', figure: into, goal: atMost(100, 'figure') },
    ];
  } finally {
    await end(rig, made.execution);
  }
}

/** The most resident memory in MB during `work`, beyond that before it. */
async function growth(deployment: Deployment, work: () => Promise<void>): Promise<number> {
  const beforeMb = await deployment.residentMb();
  let mostMb = beforeMb;
  let isOver = false;
  const sampling = (async () => {
    while (!isOver) {
      mostMb = Math.max(mostMb, await deployment.residentMb());
      await pause(SAMPLE_MS);
    }
  })();
  try {
    await work();
  } finally {
    isOver = true;
    await sampling;
  }
  return mostMb - beforeMb;
}
