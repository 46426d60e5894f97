/** The gateway of a host. Hosts that were registered one after the other share a gateway. Pure. */

/** Ids of hosts are never given twice, so a gateway never has more than that many hosts. */
export const gatewayOf = (hostId: number, hostsPerGateway: number): number =>
  Math.floor((hostId - 1) / hostsPerGateway);
