/** Measures what readers of logs hold who stop reading, as many as may be open. */
import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { eventually } from '../../../test/support/tools/eventually.ts';
import { atMost, type Measurement } from '../figure.ts';
import { type Rig, request, serviceOf, startAgents, submit, USERS } from './cluster.ts';
import { totalMb } from './heap-watch.ts';

/** Each user may have 100, and all together 1,000 (H299). */
const READERS = 1_000;
const PER_HOST = 10;
/** Fills the buffers of the sockets, too. */
const OUTPUT_BYTES_PER_S = 200_000;
const JOIN_MS = 120_000;
/** What is held no longer grows after that. */
const FILL_MS = 20_000;
/** The isolate of 128 MB also has the cluster. */
const MOST_MB = 90;

/** The executions have ids from `first` on. */
export async function measureStalledReaders(rig: Rig, first: number): Promise<Measurement[]> {
  const { watch, users, url } = rig;
  const agents = startAgents(rig, READERS / PER_HOST, READERS, 'stalled', OUTPUT_BYTES_PER_S);
  const sockets: { destroy(): unknown }[] = [];
  try {
    await agents.waitFor(/^synced$/m, JOIN_MS);
    for (const cookie of users) await submit(rig, cookie, READERS / USERS);
    await agents.waitFor(/^runs$/m, JOIN_MS);
    const before = totalMb(await watch.live());
    let answered = 0;
    let refusal: string | undefined;
    for (let n = 0; n < READERS; n++) {
      const service = await serviceOf(rig, first + n);
      const cookie = users[Math.floor(n / (READERS / USERS))];
      const socket = connect(Number(new URL(url).port), '127.0.0.1');
      sockets.push(socket);
      socket.once('data', (data: Buffer) => {
        socket.pause();
        answered += 1;
        if (!data.toString('latin1').startsWith('HTTP/1.1 200')) refusal = data.toString();
      });
      socket.write(
        `GET /api/0.7/service/logs/${service} HTTP/1.1\r\nhost: berth\r\ncookie: ${cookie}\r\n\r\n`,
      );
    }
    await eventually(() => answered === READERS, JOIN_MS);
    if (refusal !== undefined) throw new Error(`a log was refused: ${refusal}`);
    await pause(FILL_MS);
    const heldMb = totalMb(await watch.live()) - before;
    await request(rig, rig.admin, 'GET', 'execution?limit=20');
    return [
      {
        name: `memory of ${READERS} readers of logs who all stall`,
        unit: 'MB',
        figure: heldMb,
        goal: atMost(MOST_MB, 'figure'),
      },
    ];
  } finally {
    for (const socket of sockets) socket.destroy();
    await agents.kill();
  }
}
