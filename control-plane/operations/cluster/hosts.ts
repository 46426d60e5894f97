/** Use cases on hosts. Each one authorises on its first line. */
import { type Actor, authorise } from '../../core/accounts/account.ts';
import type { HostChanges } from '../../core/hosts/drain.ts';
import type { HostRemoval } from '../../core/hosts/host-removal.ts';
import { OperationError } from '../../core/model/errors.ts';
import type { HostDetail, HostView } from '../../core/views/host-view.ts';
import type { Input } from '../accounts/write-outcome.ts';
import type { Context } from '../context.ts';

export interface HostFilter {
  name?: string | undefined;
}

export async function listHosts(
  { coordinator }: Context,
  actor: Actor,
  filter: Input<HostFilter>,
): Promise<HostView[]> {
  authorise(actor, { kind: 'configure' });
  const { name } = await filter();
  const all = await coordinator.hosts();
  return name === undefined ? all : all.filter((host) => host.name === name);
}

export async function getHost({ coordinator }: Context, actor: Actor, id: number): Promise<HostDetail> {
  authorise(actor, { kind: 'configure' });
  return coordinator.host(id);
}

/**
 * Drains the host or makes it schedulable again, and sets its labels. Resolves when that is committed;
 * services leave later.
 */
export async function updateHost(
  { coordinator }: Context,
  actor: Actor,
  id: number,
  input: Input<HostChanges>,
): Promise<void> {
  authorise(actor, { kind: 'configure' });
  const changes = await input();
  if (changes.force && changes.schedulable !== false)
    throw new OperationError(
      'invalid',
      'force: requires "schedulable": false; it then also moves essential services.',
    );
  await coordinator.changeHost(id, changes);
}

/** Revokes the host's key and restarts its services elsewhere. */
export async function removeHost(
  { coordinator }: Context,
  actor: Actor,
  id: number,
  input: Input<{ force?: boolean | undefined }>,
): Promise<HostRemoval> {
  authorise(actor, { kind: 'configure' });
  const { force = false } = await input();
  return coordinator.removeHost(id, force);
}
