/** Use cases that show the cluster as a whole. Each one authorises on its first line. */
import { type Account, type Actor, authorise } from '../../core/accounts/account.ts';
import type { HostService } from '../../core/views/host-view.ts';
import type {
  ClusterOverview,
  HostOverview,
  OverviewSearch,
  QueuedView,
  UserUsage,
} from '../../core/views/overview.ts';
import type { Context } from '../context.ts';

/** Queued executions shown. The coordinator diagnoses the placement of each. */
const MAX_QUEUE_SHOWN = 10;
const MAX_HOSTS_SHOWN = 200;

export type HostSearch = Pick<OverviewSearch, 'text' | 'state'>;

/** What another user owns is shown without its owner and name; `own` is null then. */
type WithoutOwner<T, Own extends keyof T> = Omit<T, Own | 'userId'> & { own: Pick<T, Own> | null };

export type SeenQueued = WithoutOwner<QueuedView, 'id' | 'name' | 'userName'>;
export type SeenService = WithoutOwner<HostService, 'id' | 'name' | 'executionId' | 'executionName'>;
export type SeenCluster = Omit<ClusterOverview, 'queue'> & { queue: SeenQueued[] };
export type SeenHost = Omit<HostOverview, 'services'> & { services: SeenService[] };

export async function viewCluster(
  { coordinator }: Context,
  actor: Actor,
  search: HostSearch,
): Promise<SeenCluster> {
  const account = authorise(actor, { kind: 'see-status' });
  const { queue, ...rest } = await coordinator.overview({
    ...search,
    queued: MAX_QUEUE_SHOWN,
    hosts: MAX_HOSTS_SHOWN,
  });
  const seen = queue.map(({ id, name, userName, userId, ...one }) => ({
    ...one,
    own: maySee(account, userId) ? { id, name, userName } : null,
  }));
  return { ...rest, queue: seen };
}

export async function viewHost({ coordinator }: Context, actor: Actor, hostId: number): Promise<SeenHost> {
  const account = authorise(actor, { kind: 'see-status' });
  const { services, ...host } = await coordinator.host(hostId);
  const seen = services.map(({ id, name, executionId, executionName, userId, ...one }) => ({
    ...one,
    own: maySee(account, userId) ? { id, name, executionId, executionName } : null,
  }));
  return { ...host, services: seen };
}

/** The usage that counts under the quotas, of every user with something running. */
export async function listUsages({ coordinator }: Context, actor: Actor): Promise<UserUsage[]> {
  authorise(actor, { kind: 'see-configuration' });
  return coordinator.usages();
}

const maySee = ({ user, role }: Account, ownerId: number): boolean =>
  role.canOperateOthers || user.id === ownerId;
