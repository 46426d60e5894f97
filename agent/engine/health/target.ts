/** What a health check connects to, or runs in, as the engine describes it. Pure. */
import type { ContainerInspectInfo } from 'dockerode';
import { type HealthCheck, healthCheckSchema } from '../../../shared/protocol/health.ts';
import { label } from '../labels.ts';

export interface Target {
  id: string;
  /** Its first process, by the number that the engine's machine has for it. */
  pid: number;
  /** The name of its user. */
  owner: string;
  /** Its address in its own network; empty if it has none. */
  address: string;
  /** Id of the network of this address; empty if it has none. */
  network: string;
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
  pid: info.State?.Pid ?? 0,
  owner: info.Config.Labels[label.owner] ?? '',
  ...addressOf(info),
  image: info.Image,
  commands: (info as { ExecIDs?: string[] | null }).ExecIDs ?? [],
});

/** With an overlay network of Berth, the host reaches the container by its other network. */
function addressOf({ Config, NetworkSettings }: ContainerInspectInfo): Pick<Target, 'address' | 'network'> {
  const overlay = Config.Labels[label.overlay];
  for (const [name, network] of Object.entries(NetworkSettings.Networks)) {
    const address = network.IPAddress || network.GlobalIPv6Address;
    if (name !== overlay && address) return { address, network: network.NetworkID ?? '' };
  }
  return { address: '', network: '' };
}
