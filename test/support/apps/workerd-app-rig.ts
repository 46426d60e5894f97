/**
 * The relay on workerd from the client's socket to the application: the real Worker, gateway and coordinator.
 */
import { ApiClient } from '../clients/api-client.ts';
import { startMortalHost } from '../hosts/workerd/host-mortal.ts';
import { joinAppAgent } from './app-agent.ts';

export async function startWorkerdAppRig() {
  const host = await startMortalHost({});
  const agent = await joinAppAgent(host, 'host1', (port) => port);
  const { service } = await agent.runs(await new ApiClient(() => host).submit());
  return {
    url: host.url(),
    service: { serviceId: service, hostId: 1 },
    async close() {
      await agent.close();
      await host.stop();
    },
  };
}
