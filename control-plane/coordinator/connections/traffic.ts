/** Traffic: what passes the connections of agents in this process, for their readers and for metrics. */

export interface PassedBytes {
  /** Output that has arrived for readers of logs. */
  bytes: number;
  /** Bytes of streams, to services and from them. */
  toServices: number;
  fromServices: number;
}

export interface Traffic extends PassedBytes {
  /** Open logs. */
  open: number;
}

export const noTraffic = (): Traffic => ({ open: 0, bytes: 0, toServices: 0, fromServices: 0 });

export function addBytes(traffic: PassedBytes, { bytes, toServices, fromServices }: PassedBytes): void {
  traffic.bytes += bytes;
  traffic.toServices += toServices;
  traffic.fromServices += fromServices;
}

/** The bytes so far, which count as taken. */
export function takeBytes(traffic: PassedBytes): PassedBytes {
  const { bytes, toServices, fromServices } = traffic;
  Object.assign(traffic, { bytes: 0, toServices: 0, fromServices: 0 });
  return { bytes, toServices, fromServices };
}
