/** Channels that the Worker reads at a gateway. */
import { type DialGateway, GatewayChannels } from '../gateways/gateway-channels.ts';
import type { ChannelAddress } from '../streams/placement.ts';
import { noFreeStream, type ServiceLogsDeps } from '../streams/service-logs.ts';
import { objectClock } from './object-clock.ts';

/** Where the Worker finds the channels of a host. */
export function gatewayChannels(dial: DialGateway, { gateway, host }: ChannelAddress, free?: () => void) {
  if (!gateway) throw new Error('the connection is at no gateway');
  const full = noFreeStream(host).message;
  return new GatewayChannels({ at: gateway, dial, clock: objectClock, full, free });
}

export const gatewayLogs =
  (dial: DialGateway): ServiceLogsDeps['logsAt'] =>
  (at, free) => {
    const channels = gatewayChannels(dial, at, free);
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
