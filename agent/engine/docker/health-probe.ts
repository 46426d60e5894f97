/** Makes health checks with a Docker engine: connects to containers, or runs commands in them. */
import type Docker from 'dockerode';
import type { Assignment } from '../../../shared/protocol/assignment.ts';
import { EngineError } from '../engine.ts';
import { CommandProbe, type CommandProbeOptions, requireImageCommand } from '../health/command-probe.ts';
import { HealthChecks } from '../health/health-checks.ts';
import { HostAddresses } from '../health/host-addresses.ts';
import { probeNetwork } from '../health/network-probe.ts';
import { killCommand } from '../processes/command-processes.ts';

/**
 * `streams` is for calls that last as long as a command runs. `isLocal`: the engine is on the agent's
 * machine, where the agent may reach the processes of containers.
 */
export function healthChecks(docker: Docker, streams: Docker, isLocal: boolean): HealthChecks {
  const end: CommandProbeOptions['end'] = async (container, pid, mark) =>
    isLocal && (await killCommand(container, pid, mark));
  const commands = new CommandProbe({ docker, streams, end });
  const addresses = new HostAddresses(docker);
  return new HealthChecks({
    run: async (check, target) => {
      if (check.kind === 'http' || check.kind === 'tcp') {
        const address = await addresses.of(target).catch(() => undefined);
        return address === undefined ? { result: 'unknown', detail: '' } : probeNetwork(check, address);
      }
      return commands.run(target, check.kind === 'command' ? check.words : null, check.timeoutMs);
    },
    forgotten: (id) => {
      commands.forget(id);
      addresses.forget(id);
    },
    nowMs: Date.now,
    uptimeMs: () => performance.now(),
  });
}

/**
 * Throws if the health of a container that was just created cannot be checked. `isLocal`: the engine is on
 * the agent's machine, which alone can reach the addresses of containers.
 */
export async function requireCheckable(
  docker: Docker,
  id: string,
  { health, image }: Assignment,
  isLocal: boolean,
): Promise<void> {
  if (health?.kind === 'image') await requireImageCommand(docker, id, image);
  if (isLocal || (health?.kind !== 'http' && health?.kind !== 'tcp')) return;
  await docker.getContainer(id).remove({ force: true, v: true });
  const reason = `the engine of this host is on another machine, where the agent cannot check by ${health.kind}`;
  throw new EngineError('permanent', `${reason}: use "command" in "health"`);
}
