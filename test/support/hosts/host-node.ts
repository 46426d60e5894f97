/** Starts the control plane on Node as users do. It never starts an agent: tests start their own. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { openEmbedded } from '../../../control-plane/store/db/embedded.ts';
import { documentedAt, undocumentedAt } from '../tools/documented.ts';
import { scratchFolder } from '../tools/folder.ts';
import type { Host, HostOptions } from './hosts.ts';
import { type Program, startProgram } from './process.ts';

/** Settings of a control plane on Node whose data are in the folder. */
export const settingsOf = (
  { variant, deployment, adminPassword, env }: HostOptions,
  folder: string,
): Record<string, string> => ({
  BERTH_PORT: '0',
  BERTH_DATA_DIR: folder,
  BERTH_LOCAL_AGENT: 'off',
  BERTH_API_VARIANT: variant,
  BERTH_DEPLOYMENT_NAME: deployment,
  BERTH_ADMIN_PASSWORD: adminPassword,
  ...env,
});

export async function startNodeHost(options: HostOptions): Promise<Host> {
  const folder = await scratchFolder('berth-node-');
  let program: Program;
  let url = '';
  const start = async () => {
    program = startProgram(['control-plane/node.ts'], {
      env: settingsOf(options, folder),
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
