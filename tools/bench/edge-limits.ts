/** Starts the worker that the figures of the edge are compared with, on workerd as Berth is. */

import { rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { createClient } from '@libsql/client/web';
import { build } from 'esbuild';
import { type RawWorkerd, startRawWorkerd } from '../../test/support/hosts/workerd/raw-workerd.ts';
import { scratchFolder } from '../../test/support/tools/folder.ts';

export interface EdgeLimits {
  url: string;
  workerd: RawWorkerd;
  stop(): Promise<void>;
}

/** `databaseUrl` is the way to the server whose URL is `serverUrl`; `example` is what the reads answer. */
export async function startEdgeLimits(
  serverUrl: string,
  databaseUrl: string,
  example: string,
): Promise<EdgeLimits> {
  const client = createClient({ url: serverUrl });
  await client.execute('CREATE TABLE IF NOT EXISTS limit_rows (id INTEGER PRIMARY KEY, body TEXT NOT NULL)');
  await client.execute({
    sql: 'INSERT OR REPLACE INTO limit_rows (id, body) VALUES (1, ?)',
    args: [example],
  });
  client.close();
  const folder = await scratchFolder('berth-edge-');
  await build({
    entryPoints: [resolve(import.meta.dirname, 'edge-worker/worker.ts')],
    outfile: join(folder, 'worker.js'),
    bundle: true,
    format: 'esm',
    target: 'es2024',
    conditions: ['workerd', 'worker', 'browser'],
    external: ['cloudflare:*', 'node:*'],
  });
  const workerd = await startRawWorkerd({
    folder,
    sockets: 1,
    readyPath: '/memory',
    configOf: ([port = 0]) => configOf(port, databaseUrl, example),
  });
  return {
    url: workerd.urls()[0] ?? '',
    workerd,
    async stop() {
      await workerd.kill();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

const configOf = (port: number, databaseUrl: string, example: string): string =>
  `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "limits", worker = .limits),
    (name = "internet", network = (allow = ["public", "private", "local"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "limits")],
);
const limits :Workerd.Worker = (
  modules = [(name = "worker", esModule = embed "worker.js")],
  compatibilityDate = "2026-10-01",
  compatibilityFlags = ["nodejs_compat", "enable_request_signal"],
  bindings = [
    (name = "INSERTER", durableObjectNamespace = "Inserter"),
    (name = "DATABASE_URL", text = ${JSON.stringify(databaseUrl)}),
    (name = "EXAMPLE", text = ${JSON.stringify(example)}),
  ],
  durableObjectNamespaces = [(className = "Inserter", uniqueKey = "inserter", enableSql = true)],
  durableObjectStorage = (inMemory = void),
);
`;
