/** Parses the engine's description of a container. Pure. */
import type { ContainerInfo, ContainerInspectInfo } from 'dockerode';
import { idProofSchema, type ServiceKey } from '../../../shared/protocol/assignment.ts';
import type { Container, ContainerCpu, ContainerSummary, PublishedPort } from '../engine.ts';
import { label } from '../labels.ts';

/** Undefined if the labels are not Berth's. `health`: what the agent's checks have found. */
export function readSummary(
  { Id: id, Labels, State }: ContainerInfo,
  health: ContainerSummary['health'],
): ContainerSummary | undefined {
  const key = readKey(Labels);
  const paused = State === 'paused' && ({ paused: true } as const);
  return key && { ...key, id, state: readState(State), ...paused, ...(health && { health }) };
}

export function readContainer(info: ContainerInspectInfo): Container | undefined {
  const key = readKey(info.Config.Labels);
  if (!key) return undefined;
  const execution = Number(info.Config.Labels[label.execution]) || undefined;
  const { data: idProof } = idProofSchema.safeParse(info.Config.Labels[label.idProof]);
  const remark = info.Config.Labels[label.remark] || undefined;
  const common = { ...key, id: info.Id, execution, idProof, cpu: readCpu(info), ...(remark && { remark }) };
  const { Status, ExitCode, OOMKilled, StartedAt, FinishedAt } = info.State;
  const state = readState(Status);
  switch (state) {
    case 'created':
      return { ...common, state };
    case 'running':
      return {
        ...common,
        state,
        ...readAddress(info),
        startedAtMs: readTime(StartedAt),
        ...(Status === 'paused' && { paused: true }),
      };
    case 'exited':
      return {
        ...common,
        state,
        exitCode: ExitCode,
        outOfMemory: OOMKilled,
        finishedAtMs: readTime(FinishedAt),
      };
  }
}

function readKey(labels: Record<string, string> = {}): ServiceKey | undefined {
  const service = Number(labels[label.service]);
  const generation = Number(labels[label.generation]);
  return service > 0 && generation > 0 ? { service, generation } : undefined;
}

/** Undefined if the label is missing, because another version of Berth created the container. */
function readCpu({ Config, HostConfig }: ContainerInspectInfo): ContainerCpu | undefined {
  const min = Config.Labels[label.coresMin];
  if (min === undefined) return undefined;
  // Absent for no maximum. The image may then have a label of this name, with any text.
  const max = Number(Config.Labels[label.coresMax]);
  return {
    min: Number(min),
    max: Number.isFinite(max) ? max : null,
    limit: (HostConfig.NanoCpus ?? 0) / 1e9,
  };
}

/** Maps the engine's seven states to the three of the port. */
function readState(status: string): Container['state'] {
  if (status === 'created') return 'created';
  return status === 'running' || status === 'paused' || status === 'restarting' ? 'running' : 'exited';
}

function readAddress({ NetworkSettings }: ContainerInspectInfo): {
  ipAddress: string;
  ports: PublishedPort[];
} {
  const [network] = Object.values(NetworkSettings.Networks);
  return { ipAddress: network?.IPAddress ?? '', ports: readPorts(NetworkSettings.Ports) };
}

/**
 * The ports that lead to the container over each family on which they listen. A container of an earlier agent
 * may have one that is another service's over IPv6: it has no port that can be shown.
 */
function readPorts(published: ContainerInspectInfo['NetworkSettings']['Ports']): PublishedPort[] {
  return Object.entries(published ?? {}).flatMap(([name, bindings]) => {
    const [hostPort, ...others] = new Set(bindings?.map(({ HostPort }) => Number(HostPort)));
    const [port, protocol] = name.split('/');
    if (hostPort === undefined || others.length > 0 || (protocol !== 'tcp' && protocol !== 'udp')) return [];
    return [{ port: Number(port), protocol, hostPort } as const];
  });
}

/** The engine writes the year 1 for "never". */
const readTime = (text: string): number => Math.max(0, Date.parse(text) || 0);
