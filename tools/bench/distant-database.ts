/** A libSQL server that is 40 ms away: behind a relay that adds half of that each way. */
import { startSqld } from '../../test/support/hosts/sqld.ts';
import { startLink } from './distant-link.ts';

const ROUND_TRIP_MS = 40;

/** `distantUrl` is the same server as `serverUrl`, `ROUND_TRIP_MS` away. */
export async function startDistantDatabase() {
  const database = await startSqld();
  const { hostname: address, port } = new URL(database.url);
  const link = await startLink({ address, port: Number(port) }, { roundTripMs: ROUND_TRIP_MS });
  return {
    serverUrl: database.url,
    distantUrl: `http://127.0.0.1:${link.port}`,
    async [Symbol.asyncDispose]() {
      await link[Symbol.asyncDispose]();
      await database.stop();
    },
  };
}
