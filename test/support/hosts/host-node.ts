/** Starts the control plane on Node as users do. It never starts an agent: tests start their own. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { openEmbedded } from '../../../control-plane/store/db/embedded.ts';
import { documentedAt, undocumentedAt } from '../tools/documented.ts';
import type { Host, HostOptions } from './hosts.ts';
import { type Program, startProgram } from './process.ts';

export async function startNodeHost(options: HostOptions): Promise<Host> {
  const folder = await mkdtemp(join(tmpdir(), 'berth-node-'));
  let program: Program;
  let url = '';
  const start = async () => {
    program = startProgram(['control-plane/node.ts'], {
      env: {
        BERTH_PORT: '0',
        BERTH_DATA_DIR: folder,
        BERTH_LOCAL_AGENT: 'off',
        BERTH_API_VARIANT: options.variant,
        BERTH_DEPLOYMENT_NAME: options.deployment,
        BERTH_ADMIN_PASSWORD: options.adminPassword,
        ...options.env,
      },
    });
    undocumentedAt(url);
    url = (await program.waitFor(/listens on (\S+)/))[1] ?? '';
    documentedAt(url, options.variant);
  };
  await start();
  return {
    ...options,
    dataDir: folder,
    url: () => url,
    output: () => program.output,
    openDb: () => openEmbedded(pathToFileURL(join(folder, 'berth.db')).href),
    crash: () => program.kill(),
    start,
    async stop() {
      undocumentedAt(url);
      if (program.ended === undefined) await program.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
