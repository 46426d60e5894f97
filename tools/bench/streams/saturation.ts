/** Streams to a port of a service that all send as much as they may, for as long as the caller wants. */
import { setTimeout as pause } from 'node:timers/promises';
import { ClientStream } from '../../../client/streams.ts';
import { PASSWORD } from '../deployment.ts';
import { type Rig, TCP_PORT } from './rig.ts';

const BLOCK = Buffer.alloc(64 * 1024, 'berth');
/** Until all of them are under way. */
const WARM_UP_MS = 1_000;

export async function saturate(
  { deployment, service }: Rig,
  kind: 'down' | 'up',
  count: number,
): Promise<AsyncDisposable> {
  const url = new URL(`${deployment.url}/native/api/0.7/service/${service}/forward`);
  const call = { method: 'GET', url, credentials: { username: 'admin', password: PASSWORD } } as const;
  const streams: ClientStream[] = [];
  for (let n = 0; n < count; n++)
    streams.push(await ClientStream.open(call, { type: 'forward', port: TCP_PORT }));
  let isOver = false;
  const run = async (stream: ClientStream) => {
    await stream.write(Buffer.from(`${kind}\n`));
    if (kind === 'up') while (!isOver) await stream.write(BLOCK);
    else for await (const _ of stream.output()) if (isOver) return;
  };
  const running = streams.map((stream) =>
    run(stream).catch((error) => {
      if (!isOver) throw error;
    }),
  );
  await Promise.race([pause(WARM_UP_MS), ...running]);
  return {
    async [Symbol.asyncDispose]() {
      isOver = true;
      for (const stream of streams) stream.close();
      await Promise.all(running);
    },
  };
}
