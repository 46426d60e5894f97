/** Opens a database by its URL, embedded or on a server, for the programs of a self-hosted control plane. */
import type { Db } from '../store/db/db.ts';
import { openEmbedded } from '../store/db/embedded.ts';

/** `token` is for servers. */
export async function openDatabase(url: string, token: string | undefined): Promise<Db> {
  if (url.startsWith('file:') || url === ':memory:') return openEmbedded(url);
  // The client for servers takes 10 MB of memory, which an embedded database does not need.
  const { openRemote } = await import('../store/db/remote.ts');
  return openRemote(url, token);
}
