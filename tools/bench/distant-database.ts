/** A libSQL server that is 40 ms away: behind a relay that adds half of that each way. */
import { startProgram } from '../../test/support/hosts/process.ts';
import { startSqld } from '../../test/support/hosts/sqld.ts';

const ROUND_TRIP_MS = 40;

interface Urls {
  serverUrl: string;
  /** The same server, `ROUND_TRIP_MS` away. */
  distantUrl: string;
}

export async function withDistantDatabase<T>(measure: (urls: Urls) => Promise<T>): Promise<T> {
  const database = await startSqld();
  const { port } = new URL(database.url);
  const relay = startProgram(['tools/bench/programs/distant-relay.ts', port, String(ROUND_TRIP_MS / 2)]);
  try {
    const [, distantPort] = await relay.waitFor(/port (\d+)/);
    return await measure({ serverUrl: database.url, distantUrl: `http://127.0.0.1:${distantPort}` });
  } finally {
    await relay.kill();
    await database.stop();
  }
}
