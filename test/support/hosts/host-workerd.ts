/**
 * Owns the control plane on workerd for tests: `wrangler dev`, as `npm run dev` starts it, on a libSQL server of its own.
 * Never starts an agent: tests bring their own.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openRemote } from '../../../control-plane/store/db/remote.ts';
import { documentedAt } from '../tools/documented.ts';
import type { Host, HostOptions } from './hosts.ts';
import { type Program, startCommand } from './process.ts';
import { type Sqld, startSqld } from './sqld.ts';

const START_LIMIT_MS = 40_000;

/** `database`: to break it while the control plane goes on. */
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
      // Nothing here asks the internet: neither for statistics nor for the place of a request.
      { env: { WRANGLER_SEND_METRICS: 'false', CLOUDFLARE_CF_FETCH_ENABLED: 'false', NO_COLOR: '1' } },
    );
    url = (await program.waitFor(/Ready on (http:\S+)/, START_LIMIT_MS))[1] ?? '';
    documentedAt(url, options.variant);
  };
  const crash = async () => {
    // The whole group: workerd would outlive its wrangler.
    if (program.ended === undefined) process.kill(-program.pid, 'SIGKILL');
    await program.waitForEnd();
  };
  await start();
  // The first request makes the schema; tests write into it before they ask anything.
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
