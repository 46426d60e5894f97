/** A libSQL server that is 40 ms away: behind a relay that adds half of that each way. */
import { startProgram } from '../../test/support/hosts/process.ts';
import { startSqld } from '../../test/support/hosts/sqld.ts';

const ROUND_TRIP_MS = 40;

/** `distantUrl` is the same server as `serverUrl`, `ROUND_TRIP_MS` away. */
export async function startDistantDatabase() {
  const database = await startSqld();
  const { port } = new URL(database.url);
  const relay = startProgram(['tools/bench/programs/distant-relay.ts', port, String(ROUND_TRIP_MS / 2)]);
  const [, distantPort] = await relay.waitFor(/port (\d+)/);
  return {
    serverUrl: database.url,
    distantUrl: `http://127.0.0.1:${distantPort}`,
    async [Symbol.asyncDispose]() {
      await relay.kill();
      await database.stop();
    },
  };
}
