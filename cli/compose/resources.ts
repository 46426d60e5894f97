/** What a Compose service reserves and may use, and how many instances it has. Pure. */
import type { ServiceDescription } from '../../shared/application-schema.ts';
import type { Path, Remarks } from './remarks.ts';
import type { ComposeService } from './schema.ts';
import { bytesOf } from './sizes.ts';

/** Reads `deploy`, or the fields that were there before it. A 0 removes a limit. */
export function resourcesOf(
  service: ComposeService,
  path: Path,
  remarks: Remarks,
): ServiceDescription['resources'] {
  const { limits, reservations } = service.deploy?.resources ?? {};
  const { mem_limit, mem_reservation, cpus, shm_size } = service;
  const either = <T>(now: T | null | undefined, before: T | null | undefined, field: string): T | null =>
    oneOf(now, before, [...path, field], 'deploy.resources', remarks);
  const bytes = (text: string | null) => (text === null ? null : bytesOf(text) || null);
  return {
    memory: {
      min: bytes(either(reservations?.memory, mem_reservation, 'mem_reservation')),
      max: bytes(either(limits?.memory, mem_limit, 'mem_limit')),
    },
    cores: { min: reservations?.cpus || null, max: either(limits?.cpus, cpus, 'cpus') || null },
    ...(shm_size != null && { shm: bytesOf(shm_size) }),
  };
}

export function instancesOf(service: ComposeService, path: Path, remarks: Remarks): number {
  const { deploy, scale } = service;
  if (deploy?.mode != null && deploy.mode !== 'replicated')
    remarks.leaveOut([...path, 'deploy', 'mode'], 'replicas is the number of instances, whatever the hosts');
  const count = oneOf(deploy?.replicas, scale, [...path, 'scale'], 'deploy.replicas', remarks) ?? 1;
  if (count === 0)
    remarks.problem(
      [...path, deploy?.replicas == null ? 'scale' : 'deploy'],
      'has no instance: remove the service',
    );
  return count;
}

function oneOf<T>(
  now: T | null | undefined,
  before: T | null | undefined,
  path: Path,
  other: string,
  remarks: Remarks,
): T | null {
  if (now != null && before != null && now !== before)
    remarks.problem(path, `differs from ${other}: remove one of them`);
  return now ?? before ?? null;
}
