/**
 * Routes of the earlier platform: Berth's without what it lacks. Some have handlers that call the same use
 * cases and map their results.
 */
import { authorise } from '../../core/accounts/account.ts';
import { serviceSeenAt } from '../../core/views/early-end.ts';
import type { Endpoint } from '../../core/views/execution-views.ts';
import type { SchedulerSnapshot } from '../../core/views/statistics.ts';
import { appAddresses } from '../../operations/app-addresses.ts';
import { snapshotWithoutEarlyEnds } from '../../operations/cluster/statistics.ts';
import { listEndpoints } from '../../operations/executions/executions.ts';
import { getService } from '../../operations/executions/services.ts';
import { descriptionSteps } from '../../operations/executions/submission-input.ts';
import { discovery, infoOf } from '../api/public.ts';
import type { Route } from '../api/route.ts';
import { serviceLog } from '../api/services.ts';
import { json } from '../json/render.ts';
import { pathId } from '../request.ts';
import { readDescription } from './zoe-description.ts';
import { openLines } from './zoe-log.ts';

/** What a release answers in its own way. */
export interface Release {
  version: string;
  /** Whether discovery requires credentials. */
  privateDiscovery?: boolean;
  /** Whether there is `userinfo`, with the user name and the role of the caller. */
  userInfo?: boolean;
  endpointsJson(endpoints: readonly Endpoint[]): unknown;
  statisticsJson(snapshot: SchedulerSnapshot): unknown;
}

/** Ids of routes, and tags of several. */
const LACKING: ReadonlySet<string> = new Set([
  ...['Secrets', 'Events'],
  ...['explainExecution', 'explainApplication'],
  ...['execInService', 'forwardPort', 'copyFiles'],
]);

export const zoeRoutes = (own: readonly Route[], release: Release): Route[] => {
  const changes = changesOf(release);
  return own.flatMap((route) => {
    const { id, tag } = route;
    if (LACKING.has(id) || LACKING.has(tag)) return [];
    const changed = { ...route, ...changes[id] };
    if (id !== 'logIn' || !release.userInfo) return [changed];
    return [changed, { ...changed, path: '/userinfo', id: 'getUserInfo', access: 'user' }];
  });
};

/** By the ids of the routes. */
const changesOf = (release: Release): Record<string, Partial<Route>> => ({
  getInfo: { handle: infoOf(release.version) },
  validateApplication: {
    async handle(c, { bodies }) {
      await bodies.jsonInSteps(c, (body) => descriptionSteps(body, readDescription));
      return json({ validation: 'ok' });
    },
  },
  getSchedulerStatistics: {
    handle: async (_, deps) => json(release.statisticsJson(await snapshotWithoutEarlyEnds(deps))),
  },
  discoverServiceGroup: release.privateDiscovery
    ? {
        access: 'work',
        handle(c, deps) {
          authorise(c.get('actor'), { kind: 'login' });
          return discover(c, deps);
        },
      }
    : { handle: discover },
  listEndpoints: {
    handle: async (c, deps) =>
      json(release.endpointsJson(await listEndpoints(deps, c.get('actor'), pathId(c, 'id')))),
  },
  getService: {
    async handle(c, deps) {
      const service = await getService(deps, c.get('actor'), pathId(c, 'id'));
      return json(deps.variant.serviceJson(serviceSeenAt(service, deps.nowMs()), await appAddresses(deps)));
    },
  },
  readServiceLog: { handle: serviceLog(openLines) },
});

const discover = discovery((group) => (group === 'all' ? undefined : group));
