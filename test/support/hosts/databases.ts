/** Owns an empty database of every kind the control plane runs on, for suites that hold for all of them. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Db } from '../../../control-plane/store/db/db.ts';
import { openEmbedded } from '../../../control-plane/store/db/embedded.ts';
import { openRemote } from '../../../control-plane/store/db/remote.ts';
import { startSqld } from './sqld.ts';

/** Where a database is. `open` may be called again for the same data, but for `:memory:`, which is new each time. */
export interface Place {
  readonly url: string;
  open(): Promise<Db>;
  /** Closes what was opened and removes the data. */
  remove(): Promise<void>;
}

/** Kinds whose data outlive a connection, and those and `:memory:`. */
export const lastingKinds = ['file', 'sqld'] as const;
export const databaseKinds = [...lastingKinds, ':memory:'] as const;
export type DatabaseKind = (typeof databaseKinds)[number];

export async function emptyDatabase(kind: DatabaseKind): Promise<Place> {
  const { url, remove } = await makers[kind]();
  const opened: Db[] = [];
  return {
    url,
    async open() {
      const db = await openDatabase(url);
      opened.push(db);
      return db;
    },
    async remove() {
      await Promise.all(opened.map((db) => db.close()));
      await remove();
    },
  };
}

export async function openDatabase(url: string): Promise<Db> {
  return url.startsWith('http:') ? openRemote(url) : openEmbedded(url);
}

const makers: Record<DatabaseKind, () => Promise<{ url: string; remove: () => Promise<void> }>> = {
  async file() {
    const folder = await mkdtemp(join(tmpdir(), 'berth-db-'));
    const remove = () => rm(folder, { recursive: true, force: true });
    return { url: pathToFileURL(join(folder, 'berth.db')).href, remove };
  },
  async sqld() {
    const server = await startSqld();
    return { url: server.url, remove: () => server.stop() };
  },
  async ':memory:'() {
    return { url: ':memory:', remove: async () => {} };
  },
};
