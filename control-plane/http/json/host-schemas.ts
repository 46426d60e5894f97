/** Schemas of answers about hosts, and their rendering; schemas.ts has the other schemas. */
import * as z from 'zod';
import type { HostRemoval } from '../../core/hosts/host-removal.ts';
import { backendStatuses, serviceStatuses } from '../../core/model/service.ts';
import { type HostDetail, type HostService, type HostView, hostStates } from '../../core/views/host-view.ts';
import { idOf, seconds } from './schemas.ts';

const bytes = z.int().nonnegative().describe('Bytes');
const cores = z.number().nonnegative().describe('Cores');
const labels = z.array(z.string()).readonly().describe('Labels');

const offerSchema = z.strictObject({ labels, memory: bytes, cores }).meta({ id: 'HostOffer' });

export const hostSchema = z
  .strictObject({
    id: idOf('host'),
    name: z.string().describe('Name of the host, unique in the deployment'),
    address: z.string().describe('The address at which clients reach its published ports'),
    state: z.enum(hostStates).describe('A summary; only a ready host takes new services'),
    connected: z.boolean().describe('Whether its agent is connected'),
    lost: z.boolean().describe('Whether its agent has been silent for longer than the loss timeout'),
    schedulable: z.boolean().describe('False while it is drained'),
    labels: labels.describe('The labels of its agent and those of the administrator'),
    admin_labels: labels.describe('The labels that an administrator gave'),
    pending: offerSchema
      .nullable()
      .describe('What its agent offers beyond what was agreed, which waits for "accept"; null if nothing'),
    memory_total: bytes,
    memory_reserved: bytes,
    memory_limits: bytes.describe(
      'Sum of the memory limits of its services in bytes, defaults included; a service without a limit counts 0',
    ),
    memory_used: bytes.nullable().describe('Bytes that its containers really use; null if not known'),
    cores_total: cores,
    cores_reserved: cores,
    cores_used: cores.nullable().describe('Cores that its containers really use; null if not known'),
    containers: z.int().nonnegative().describe('Containers that are to run there'),
    agent_version: z.string().describe('Version of its agent'),
    engine_version: z.string().describe('Version of its Docker engine'),
    last_contact: z.number().describe('Time of the last contact, in seconds since the epoch (UTC)'),
    conditions: z
      .array(
        z.strictObject({
          kind: z.string().describe('The kind of the fault, for programs'),
          text: z.string().describe('A sentence for people'),
        }),
      )
      .readonly()
      .describe('Faults of the host that its agent reports'),
  })
  .meta({ id: 'Host' });

const hostServiceSchema = z
  .strictObject({
    id: idOf('service'),
    name: z.string().describe('The service group and a number'),
    execution_id: idOf('execution'),
    essential: z.boolean().describe('Whether its execution needs it to run'),
    status: z.enum(serviceStatuses).describe('State of the service'),
    backend_status: z.enum(backendStatuses).describe('State of the container when the host last reported it'),
  })
  .meta({ id: 'HostService' });

export const hostDetailSchema = hostSchema
  .extend({
    services: z
      .array(hostServiceSchema)
      .describe('Services that are placed there, or whose containers may still be there'),
  })
  .meta({ id: 'HostDetail' });

export const hostRemovalSchema = z
  .strictObject({
    message: z.string().describe('A text for people'),
    requeued: z.array(idOf('execution')).describe('Ids of the executions that return to the queue'),
    left_behind: z.int().nonnegative().describe('Number of containers that may still be there'),
  })
  .meta({ id: 'HostRemoval' });

export const agentUpdateSchema = z
  .strictObject({
    version: z.string().describe('The version that the agent is to have'),
    requested: z.boolean().describe('False if the agent has that version already'),
  })
  .meta({ id: 'AgentUpdate' });

export type AgentUpdateJson = z.infer<typeof agentUpdateSchema>;
export type HostJson = z.infer<typeof hostSchema>;
export type HostDetailJson = z.infer<typeof hostDetailSchema>;
export type HostRemovalJson = z.infer<typeof hostRemovalSchema>;
export type HostServiceJson = z.infer<typeof hostServiceSchema>;

export const hostJson = (host: HostView): HostJson => ({
  id: host.id,
  name: host.name,
  address: host.address,
  state: host.state,
  connected: host.connected,
  lost: host.lost,
  schedulable: host.schedulable,
  labels: host.labels,
  admin_labels: host.adminLabels,
  pending: host.pending && {
    labels: host.pending.labels,
    memory: host.pending.memoryBytes,
    cores: host.pending.cores,
  },
  memory_total: host.memoryBytes,
  memory_reserved: host.reservedMemoryBytes,
  memory_limits: host.memoryLimits.bytes,
  memory_used: host.usage?.memoryBytes ?? null,
  cores_total: host.cores,
  cores_reserved: host.reservedCores,
  cores_used: host.usage?.cores ?? null,
  containers: host.containers,
  agent_version: host.agentVersion,
  engine_version: host.engineVersion,
  last_contact: host.heardMs / 1_000,
  conditions: host.conditions.map(({ kind, text }) => ({ kind, text })),
});

export const hostDetailJson = (host: HostDetail): HostDetailJson => ({
  ...hostJson(host),
  services: host.services.map(hostServiceJson),
});

const hostServiceJson = (service: HostService): HostServiceJson => ({
  id: service.id,
  name: service.name,
  execution_id: service.executionId,
  essential: service.essential,
  status: service.status,
  backend_status: service.backendStatus,
});

export const hostRemovalJson = (
  { name, requeued, leftBehind }: HostRemoval,
  deploymentName: string,
): HostRemovalJson => ({
  message:
    leftBehind === 0
      ? `Host ${name} is removed.`
      : `Host ${name} is removed. ${leftText(leftBehind, deploymentName)}`,
  requeued,
  left_behind: leftBehind,
});

/** The deleted host is no longer listed, so only this message reports its containers. */
function leftText(containers: number, deploymentName: string): string {
  const [subject, object] = containers === 1 ? ['A container', 'it'] : [`${containers} containers`, 'them'];
  return (
    `${subject} may still run there. The agent stops ${object} when it reaches the control plane again. If it never will, ` +
    `remove the containers with the label berth.deployment=${deploymentName} by hand.`
  );
}

export const joinTokenSchema = z
  .strictObject({
    token: z
      .string()
      .describe('The token for one agent, as its BERTH_JOIN_TOKEN; it cannot be read again later'),
    expires_at: seconds('When it expires'),
    agent_sha256: z
      .string()
      .describe('The SHA-256 checksum of the agent, which the install script compares (BERTH_BUNDLE_SHA256)'),
    install: z
      .string()
      .optional()
      .describe('The command that, run as root, makes a machine a host with this token'),
    warning: z.string().optional().describe('Why other machines cannot use the command'),
  })
  .meta({ id: 'JoinToken' });

export type JoinTokenJson = z.infer<typeof joinTokenSchema>;
