/** The control plane on workerd with Durable Objects that a test can kill one by one (mortal-worker/). */
import { ADMIN_PASSWORD, type Host } from '../hosts.ts';
import { startWorkerdHost } from './host-workerd.ts';

export interface MortalHost extends Host {
  /** Kills the coordinator, or the gateway of that number: it loses its memory, and nothing else does. */
  killObject(gateway: number | 'coordinator'): Promise<void>;
}

const ENTRY = 'test/support/hosts/workerd/mortal-worker/worker.ts';

export async function startMortalHost(
  env: Record<string, string>,
  deployment = 'mortal',
): Promise<MortalHost> {
  const options = { variant: 'B', deployment, adminPassword: ADMIN_PASSWORD, env } as const;
  const host = await startWorkerdHost(options, ENTRY);
  return {
    ...host,
    async killObject(gateway) {
      const name = gateway === 'coordinator' ? deployment : `${deployment}/gateway-${gateway}`;
      const path = `/abort/${encodeURIComponent(name)}`;
      const { status } = await fetch(`${host.url()}${path}`, { method: 'POST' });
      if (status !== 204) throw new Error(`the object was not killed: ${status}`);
    },
  };
}
