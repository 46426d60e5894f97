/**
 * Starts the control plane on workerd by `wrangler dev`, as `npm run dev` does, with a libSQL server of its
 * own. It never starts an agent: tests start their own.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openRemote } from '../../../control-plane/store/db/remote.ts';
import { documentedAt } from '../tools/documented.ts';
import type { Host, HostOptions } from './hosts.ts';
import { type Program, startCommand } from './process.ts';
import { type Sqld, startSqld } from './sqld.ts';

const MAX_START_MS = 40_000;

/** `database` lets a test break the database under a running control plane. */
export async function startWorkerdHost(options: HostOptions): Promise<Host & { database: Sqld }> {
  const database = await startSqld();
  const folder = await mkdtemp(join(tmpdir(), 'berth-workerd-'));
  const settings = {
    BERTH_DATABASE_URL: database.url,
    BERTH_API_VARIANT: options.variant,
    BERTH_DEPLOYMENT_NAME: options.deployment,
    BERTH_ADMIN_PASSWORD: options.adminPassword,
    ...options.env,
  };
  const vars = join(folder, 'vars');
  const lines = Object.entries(settings).map(([name, value]) => `${name}=${JSON.stringify(value)}\n`);
  await writeFile(vars, lines.join(''));
  let program: Program;
  let url = '';
  const start = async () => {
    const listen = ['--ip', '127.0.0.1', '--port', '0', '--inspector-port', '0'];
    const state = ['--persist-to', join(folder, 'state'), '--env-file', vars];
    program = startCommand(
      ['wrangler', 'dev', ...listen, ...state, '--show-interactive-dev-session=false', '--log-level', 'log'],
      // Disables wrangler's requests to the internet for statistics and for the location of a request.
      { env: { WRANGLER_SEND_METRICS: 'false', CLOUDFLARE_CF_FETCH_ENABLED: 'false', NO_COLOR: '1' } },
    );
    url = (await program.waitFor(/Ready on (http:\S+)/, MAX_START_MS))[1] ?? '';
    documentedAt(url, options.variant);
  };
  const crash = async () => {
    // Kills the process group, since workerd would outlive wrangler.
    if (program.ended === undefined) process.kill(-program.pid, 'SIGKILL');
    await program.waitForEnd();
  };
  await start();
  // The first request creates the schema, into which tests may write before their own first request.
  await fetch(`${url}/api/0.7/info`);
  return {
    ...options,
    url: () => url,
    output: () => program.output,
    openDb: async () => openRemote(database.url),
    database,
    crash,
    start,
    async stop() {
      await crash().finally(() => database.stop());
      await rm(folder, { recursive: true, force: true });
    },
  };
}
