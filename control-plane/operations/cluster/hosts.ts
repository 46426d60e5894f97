/** Use cases on hosts. Each one authorises on its first line. */
import type { AgentRelease } from '../../../shared/protocol/release.ts';
import { type Actor, authorise } from '../../core/accounts/account.ts';
import { givenFields } from '../../core/accounts/account-input.ts';
import { entryOf } from '../../core/accounts/audit.ts';
import type { HostChanges } from '../../core/hosts/drain.ts';
import type { HostRemoval } from '../../core/hosts/host-removal.ts';
import { OperationError } from '../../core/model/errors.ts';
import type { HostDetail, HostView } from '../../core/views/host-view.ts';
import type { Input } from '../accounts/write-outcome.ts';
import { attempted } from '../audit.ts';
import type { Context } from '../context.ts';

export interface HostFilter {
  name?: string | undefined;
}

export async function listHosts(
  { coordinator }: Context,
  actor: Actor,
  filter: Input<HostFilter>,
): Promise<HostView[]> {
  authorise(actor, { kind: 'see-configuration' });
  const { name } = await filter();
  const all = await coordinator.hosts();
  return name === undefined ? all : all.filter((host) => host.name === name);
}

export async function getHost({ coordinator }: Context, actor: Actor, id: number): Promise<HostDetail> {
  authorise(actor, { kind: 'see-configuration' });
  return coordinator.host(id);
}

/**
 * Drains the host or makes it schedulable again, and sets its labels. Resolves when that is committed;
 * services leave later.
 */
export const updateHost = (
  context: Context,
  actor: Actor,
  id: number,
  input: Input<HostChanges>,
): Promise<void> =>
  attempted(context, actor, { action: 'update-host', targetId: id }, async () => {
    const account = authorise(actor, { kind: 'operate-hosts' });
    const changes = await input();
    if (changes.force && changes.schedulable !== false)
      throw new OperationError(
        'invalid',
        'force: requires "schedulable": false; it then also moves essential services.',
      );
    const entry = entryOf(account, { action: 'update-host', targetId: id, fields: givenFields(changes) });
    await context.coordinator.changeHost(id, changes, entry);
  });

/** What an update of an agent leads to. */
export interface AgentUpdate {
  /** The version that the agent is to have. */
  version: string;
  /** False if the agent has that version already, so that nothing is done. */
  isRequested: boolean;
}

/**
 * Requests that the host's agent updates itself to the release that this control plane has. `conflict` if
 * there is none, or if the agent can't.
 */
export const updateAgent = (
  context: Context,
  actor: Actor,
  id: number,
  readRelease: () => Promise<AgentRelease | undefined>,
): Promise<AgentUpdate> =>
  attempted(context, actor, { action: 'update-agent', targetId: id }, () =>
    requestUpdate(context, actor, id, readRelease),
  );

async function requestUpdate(
  { coordinator }: Context,
  actor: Actor,
  id: number,
  readRelease: () => Promise<AgentRelease | undefined>,
): Promise<AgentUpdate> {
  const account = authorise(actor, { kind: 'operate-hosts' });
  const release = await readRelease();
  if (!release)
    throw new OperationError(
      'conflict',
      'This control plane has no signed agent. Run a release of Berth, or set BERTH_AGENT_RELEASE to a folder ' +
        'with an agent that you have signed: where the control plane runs on Node, or for a Worker in the ' +
        'environment of npm run deploy. Without either, run install.sh on each host.',
    );
  const { agentVersion } = await coordinator.host(id);
  const isRequested = agentVersion !== release.version;
  const entry = entryOf(account, { action: 'update-agent', targetId: id });
  if (isRequested) await coordinator.updateAgent(id, release, entry);
  return { version: release.version, isRequested };
}

/** Revokes the host's key and restarts its services elsewhere. */
export const removeHost = (
  context: Context,
  actor: Actor,
  id: number,
  input: Input<{ force?: boolean | undefined }>,
): Promise<HostRemoval> =>
  attempted(context, actor, { action: 'remove-host', targetId: id }, async () => {
    const account = authorise(actor, { kind: 'operate-hosts' });
    const { force = false } = await input();
    const entry = entryOf(account, { action: 'remove-host', targetId: id, fields: force ? ['force'] : [] });
    return context.coordinator.removeHost(id, force, entry);
  });
