/** Channels that the Worker reads at a gateway. */
import type { WindowMemory } from '../../../shared/streams/window.ts';
import { type DialGateway, GatewayChannels } from '../gateways/gateway-channels.ts';
import type { ChannelAddress } from '../streams/placement.ts';
import { noFreeStream, type ServiceLogsDeps } from '../streams/service-logs.ts';
import { objectClock } from './object-clock.ts';

/** Where the Worker finds the channels of a host. */
export function gatewayChannels(
  dial: DialGateway,
  memory: WindowMemory,
  { gateway, host }: ChannelAddress,
  free?: () => void,
) {
  if (!gateway) throw new Error('the connection is at no gateway');
  const full = noFreeStream(host).message;
  return new GatewayChannels({ at: gateway, dial, clock: objectClock, memory, full, free });
}

export const gatewayLogs =
  (dial: DialGateway, memory: WindowMemory): ServiceLogsDeps['logsAt'] =>
  (at, free) => {
    const channels = gatewayChannels(dial, memory, at, free);
    return {
      moved({ gateway }) {
        if (gateway) channels.at = gateway;
      },
      get channels() {
        return channels.isResting ? undefined : channels;
      },
      async opened() {
        await channels.answered;
        if (channels.isFull) throw noFreeStream(at.host);
      },
      close: () => channels.closeAll(),
    };
  };
