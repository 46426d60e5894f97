/** Opens a database by its URL, embedded or on a server, for the programs of a self-hosted control plane. */
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Db } from '../store/db/db.ts';
import { openEmbedded } from '../store/db/embedded.ts';

/** The file of an embedded database; undefined for one in memory or on a server. */
export const fileOf = (url: string): string | undefined =>
  url.startsWith('file:') && url !== 'file::memory:'
    ? fileURLToPath(new URL(url, pathToFileURL('./')).href)
    : undefined;

export const urlOf = (path: string): string => pathToFileURL(path).href;

/** `token` is for servers. */
export async function openDatabase(url: string, token: string | undefined): Promise<Db> {
  if (url.startsWith('file:') || url === ':memory:') return openEmbedded(url);
  // The client for servers takes 10 MB of memory, which an embedded database does not need.
  const [{ openRemote }, { libsqlClient }] = await Promise.all([
    import('../store/db/remote.ts'),
    import('../store/db/libsql-client.ts'),
  ]);
  return openRemote(url, token, libsqlClient);
}
