/** The networks of containers on an engine whose networks, containers and failures a test has. */
import { ContainerNetworks, type NetworkOptions } from '../../../agent/engine/networks/container-networks.ts';
import { parseSubnet, type Subnet } from '../../../agent/engine/networks/subnets.ts';
import { ScriptedEngine } from '../engines/scripted-engine.ts';

export function subnet(text: string): Subnet {
  const found = parseSubnet(text);
  if (!found) throw new Error(`not a sub-network: ${text}`);
  return found;
}

/** Labels of networks and containers of the deployment of the rig. */
export const labels = (more: Record<string, string> = {}) => ({ 'berth.deployment': 'd', ...more });

/** `restart`: another agent at the same engine. */
export async function networkRig(changes: Partial<NetworkOptions> = {}) {
  const { engine, docker } = await ScriptedEngine.open();
  const clock = { ms: 0 };
  const options: NetworkOptions = {
    ...{ deployment: 'd', local: false, network: null, networks: ['lan'], overlay: false },
    ...{ subnets: [subnet('198.18.0.0/16')], uptimeMs: () => clock.ms, ...changes },
  };
  const restart = () => new ContainerNetworks(docker, options, async () => 'engine');
  const { calls, networks: known, created, connected, containers, addNetwork, addContainer } = engine;
  const seen = { calls, known, created, connected, containers, addNetwork, addContainer };
  return { engine, docker, clock, restart, networks: restart(), ...seen };
}

/** What a call comes to if the engine refuses such requests with each of these statuses. */
export async function refusals(
  engine: ScriptedEngine,
  wanted: string,
  call: () => Promise<unknown>,
  statuses = [403, 404, 409, 500],
): Promise<string[]> {
  const found: string[] = [];
  for (const status of statuses) {
    engine.refuse(wanted, status, 'refused');
    const outcome = call().then(
      () => 'done',
      ({ message }) => message,
    );
    found.push(`${status} ${await outcome}`);
  }
  engine.before = undefined;
  return found;
}
