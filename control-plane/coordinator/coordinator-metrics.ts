/** The metrics of a coordinator: what it has counted, and the state if it has one. */
import { activeFamily, clusterFamilies, clusterLimits } from '../core/metrics/cluster-families.ts';
import type { CoordinatorCounts } from '../core/metrics/coordinator-counts.ts';
import { counter, type Family } from '../core/metrics/family.ts';
import { type Limit, limitFamilies } from '../core/metrics/limits.ts';
import type { StreamCounts } from '../core/metrics/stream-counts.ts';
import type { IdempotencyKeys } from './changes/idempotency-keys.ts';
import type { Clock } from './ports.ts';
import type { Turns } from './turns.ts';

/** How long a scrape waits for the state. Prometheus gives up after 10 s by default. */
const MAX_WAIT_MS = 4_000;

/** What the parts of the coordinator hold and count. */
export interface Counted {
  counts: CoordinatorCounts;
  agents: { opened: number; reopened: number };
  history: { removed: number };
  events: Streams;
  placements: { limits: readonly Limit[]; counts: StreamCounts };
  keys: IdempotencyKeys;
}

interface Streams {
  size: number;
  maxSize: number;
}

/** Without a database that answers, there are only the counts. `maxHosts`: see `clusterFamilies`. */
export async function readMetrics(
  turns: Turns,
  clock: Pick<Clock, 'after'>,
  { counts, agents, history, events, placements, keys }: Counted,
  maxHosts: number,
): Promise<Family[]> {
  const state = await stateOf(turns, clock, maxHosts);
  return [
    activeFamily(state !== undefined),
    ...(state?.families ?? []),
    ...limitFamilies([
      ...(state?.limits ?? []),
      { name: 'event_streams', used: events.size, limit: events.maxSize },
      ...placements.limits,
      keys.limit,
    ]),
    ...counts.families(),
    ...placements.counts.families(),
    counter('berth_agent_connections_total', 'Connections that agents have opened.', agents.opened),
    counter(
      'berth_agent_reconnects_total',
      'Connections of hosts that had one before, since the coordinator started.',
      agents.reopened,
    ),
    counter(
      'berth_executions_removed_total',
      'Ended executions that were removed because of their age.',
      history.removed,
    ),
  ];
}

/** Undefined if it can't be read in time. Causes no commit. */
function stateOf(
  turns: Turns,
  clock: Pick<Clock, 'after'>,
  maxHosts: number,
): Promise<{ families: Family[]; limits: Limit[] } | undefined> {
  return new Promise((resolve) => {
    const cancel = clock.after(MAX_WAIT_MS, () => resolve(undefined));
    turns
      .query((cluster, nowMs) => ({
        families: clusterFamilies(cluster, nowMs, maxHosts),
        limits: clusterLimits(cluster),
      }))
      .then(resolve, () => resolve(undefined))
      .finally(cancel);
  });
}
