/** The control plane on workerd with Durable Objects that a test can kill one by one (mortal-worker/). */
import { openRemote } from '../../../control-plane/store/db/remote.ts';
import { ADMIN_PASSWORD, type Host } from './hosts.ts';
import { startLimitedWorkerd } from './limited-workerd.ts';

export interface MortalHost extends Host {
  /** Kills the coordinator, or the gateway of that number: it loses its memory, and nothing else does. */
  killObject(gateway: number | 'coordinator'): Promise<void>;
}

export async function startMortalHost(env: Record<string, string>): Promise<MortalHost> {
  const deployment = 'mortal';
  const settings = { BERTH_DEPLOYMENT_NAME: deployment, BERTH_ADMIN_PASSWORD: ADMIN_PASSWORD, ...env };
  const entry = 'test/support/hosts/mortal-worker/worker.ts';
  const workerd = await startLimitedWorkerd([], settings, { entry });
  return {
    variant: 'B',
    deployment,
    adminPassword: ADMIN_PASSWORD,
    env,
    url: workerd.url,
    output: () => workerd.program().output,
    openDb: async () => openRemote(workerd.databaseUrl),
    crash: workerd.kill,
    start: workerd.start,
    stop: workerd.stop,
    async killObject(gateway) {
      const name = gateway === 'coordinator' ? deployment : `${deployment}/gateway-${gateway}`;
      const path = `/abort/${encodeURIComponent(name)}`;
      const { status } = await fetch(`${workerd.url()}${path}`, { method: 'POST' });
      if (status !== 204) throw new Error(`the object was not killed: ${status}`);
    },
  };
}
