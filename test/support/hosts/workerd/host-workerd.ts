/**
 * Starts the control plane on workerd, with a libSQL server of its own. It never starts an agent: tests start
 * their own.
 */

import { documentedAt, undocumentedAt } from '../../tools/documented.ts';
import { openDatabase } from '../databases.ts';
import type { Host, HostOptions } from '../hosts.ts';
import type { Sqld } from '../sqld.ts';
import { startLimitedWorkerd } from './limited-workerd.ts';

/** `database` lets a test break the database under a running control plane. */
export async function startWorkerdHost(
  options: HostOptions,
  entry?: string,
): Promise<Host & { database: Sqld }> {
  const settings = {
    BERTH_API_VARIANT: options.variant,
    BERTH_DEPLOYMENT_NAME: options.deployment,
    BERTH_ADMIN_PASSWORD: options.adminPassword,
    ...options.env,
  };
  const started = { readyPath: undefined, ...(entry !== undefined && { entry }) };
  const workerd = await startLimitedWorkerd([], settings, started);
  // The first request creates the schema, into which tests may write before their own first request.
  await fetch(`${workerd.url()}/api/0.7/info`);
  let url = '';
  const document = () => {
    undocumentedAt(url);
    url = workerd.url();
    documentedAt(url, options.variant);
  };
  document();
  return {
    ...options,
    url: workerd.url,
    output: () => workerd.program().output,
    openDb: () => openDatabase(workerd.databaseUrl),
    database: workerd.database,
    crash: workerd.kill,
    start: () => workerd.start().then(document),
    stop: () => {
      undocumentedAt(url);
      return workerd.stop();
    },
  };
}
