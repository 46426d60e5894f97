/** Empty databases of every kind that the control plane supports, for suites that run on each kind. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Db } from '../../../control-plane/store/db/db.ts';
import { openEmbedded } from '../../../control-plane/store/db/embedded.ts';
import { libsqlClient } from '../../../control-plane/store/db/libsql-client.ts';
import { pipeline } from '../../../control-plane/store/db/pipeline.ts';
import { openRemote, type Protocol } from '../../../control-plane/store/db/remote.ts';
import { scratchFolder } from '../tools/folder.ts';
import { startSqld } from './sqld.ts';

/** An empty database. Repeated calls of `open` open the same data; `:memory:` is a new database each time. */
export interface TestDatabase {
  readonly url: string;
  open(): Promise<Db>;
  /** Closes all connections and removes the data. */
  remove(): Promise<void>;
}

/** Kinds whose data outlive a connection. */
export const lastingKinds = ['file', 'sqld on Node', 'sqld on workerd'] as const;
export const databaseKinds = [...lastingKinds, ':memory:'] as const;
export type DatabaseKind = (typeof databaseKinds)[number];

export async function emptyDatabase(kind: DatabaseKind): Promise<TestDatabase> {
  const { url, remove } = await makers[kind]();
  const opened: Db[] = [];
  return {
    url,
    async open() {
      const db = await openDatabase(url, kind === 'sqld on workerd' ? pipeline : libsqlClient);
      opened.push(db);
      return db;
    },
    async remove() {
      await Promise.all(opened.map((db) => db.close()));
      await remove();
    },
  };
}

/** The protocol is for servers. */
export async function openDatabase(url: string, protocol: Protocol = libsqlClient): Promise<Db> {
  return url.startsWith('http:') ? openRemote(url, undefined, protocol) : openEmbedded(url);
}

const makers: Record<DatabaseKind, () => Promise<{ url: string; remove: () => Promise<void> }>> = {
  async file() {
    const folder = await scratchFolder('berth-db-');
    const remove = () => rm(folder, { recursive: true, force: true });
    return { url: pathToFileURL(join(folder, 'berth.db')).href, remove };
  },
  'sqld on Node': emptyServer,
  'sqld on workerd': emptyServer,
  async ':memory:'() {
    return { url: ':memory:', remove: async () => {} };
  },
};

async function emptyServer() {
  const server = await startSqld();
  return { url: server.url, remove: () => server.stop() };
}
