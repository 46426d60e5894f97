/** What a health check connects to, or runs in, as the engine describes it. Pure. */
import type { ContainerInspectInfo } from 'dockerode';
import { type HealthCheck, healthCheckSchema } from '../../../shared/protocol/health.ts';
import { label } from '../labels.ts';

export interface Target {
  id: string;
  /** The name of its user. */
  owner: string;
  /** Its address in its own network; empty if it has none. */
  address: string;
  /** Id of its image. */
  image: string;
  /** Commands that ran in it besides its own program when it was inspected. */
  commands: readonly string[];
}

/** Undefined if the container is not checked. Its image may have a label of this name, with any text. */
export function checkOf({ Config }: ContainerInspectInfo): HealthCheck | undefined {
  const text = Config.Labels[label.health];
  if (!text) return undefined;
  try {
    return healthCheckSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

export const targetOf = (info: ContainerInspectInfo): Target => ({
  id: info.Id,
  owner: info.Config.Labels[label.owner] ?? '',
  address: addressOf(info),
  image: info.Image,
  commands: (info as { ExecIDs?: string[] | null }).ExecIDs ?? [],
});

/** Hosts cannot reach the addresses of an overlay network, so that of the other network counts. */
function addressOf({ Config, NetworkSettings }: ContainerInspectInfo): string {
  const overlay = Config.Labels[label.overlay];
  const networks = Object.entries(NetworkSettings.Networks).filter(([name]) => name !== overlay);
  const addresses = networks.flatMap(([, { IPAddress, GlobalIPv6Address }]) => [
    IPAddress,
    GlobalIPv6Address,
  ]);
  return addresses.find((address) => address) ?? '';
}
