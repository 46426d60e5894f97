/**
 * Routes of the earlier platform: Berth's without what it lacks. Some have handlers that call the same use
 * cases and map their results.
 */
import { authorise } from '../../core/accounts/account.ts';
import { hasCode, OperationError } from '../../core/model/errors.ts';
import type { Endpoint } from '../../core/views/execution-views.ts';
import type { SchedulerSnapshot } from '../../core/views/statistics.ts';
import { listEndedSince, schedulerSnapshot } from '../../operations/cluster/statistics.ts';
import {
  listEndpoints,
  listExecutions,
  type OverQuota,
  submitExecution,
} from '../../operations/executions/executions.ts';
import { getService } from '../../operations/executions/services.ts';
import {
  descriptionSteps,
  nameOf,
  submissionSchema as ownSubmissionSchema,
  submissionSteps,
  unwrapped,
} from '../../operations/executions/submission-input.ts';
import { knownIn, listAnswer } from '../api/executions.ts';
import { discovery, infoOf } from '../api/public.ts';
import type { Route } from '../api/route.ts';
import { serviceAnswer, serviceLog } from '../api/services.ts';
import { keyOf, madeJson } from '../idempotency.ts';
import { empty, json } from '../json/render.ts';
import { pathId } from '../request.ts';
import { readDescription } from './zoe-description.ts';
import { deleteExecution, runningSinceMs, snapshotSeenWith, terminateExecution } from './zoe-ends.ts';
import { type OthersList, readFilter } from './zoe-filter.ts';
import { openLines } from './zoe-log.ts';

/** What a release answers in its own way. */
export interface Release {
  version: string;
  overQuota: OverQuota;
  othersList: OthersList;
  /** Whether discovery requires credentials. */
  discovery: 'public' | 'work';
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
      await bodies.jsonInSteps(c, (body) =>
        descriptionSteps(unwrapped(body).at === '' ? readDescription(body) : withDescription(body)),
      );
      return json({ validation: 'ok' });
    },
  },
  submitExecution: {
    async handle(c, deps) {
      let isRead = false;
      const input = async () => {
        const submission = await deps.bodies.jsonInSteps(c, (body, bytes) =>
          submissionSteps(withDescription(body), knownIn(deps, bytes), submissionSchema),
        );
        isRead = true;
        return submission;
      };
      const made = await submitExecution(deps, c.get('caller'), input, release.overQuota, keyOf(c)).catch(
        (error: unknown) => {
          // The queue is full.
          throw isRead && hasCode(error, 'too-many') ? new OperationError('conflict', error.message) : error;
        },
      );
      return madeJson('execution_id', made, deps.variant.created);
    },
  },
  getSchedulerStatistics: {
    async handle(_, deps) {
      const since = runningSinceMs(deps.nowMs());
      const [snapshot, early] = await Promise.all([schedulerSnapshot(deps), listEndedSince(deps, since)]);
      return json(release.statisticsJson(snapshotSeenWith(snapshot, early)));
    },
  },
  discoverServiceGroup: {
    access: release.discovery,
    handle(c, deps) {
      if (release.discovery === 'work') authorise(c.get('actor'), { kind: 'login' });
      return discover(c, deps);
    },
  },
  terminateExecution: ended(terminateExecution),
  deleteExecution: ended(deleteExecution),
  listExecutions: {
    handle(c, deps) {
      const actor = c.get('actor');
      // One time for the whole list, so that each execution has the status by which it was found.
      const nowMs = deps.nowMs();
      const filter = readFilter(new URL(c.req.url).searchParams, deps.variant, actor, release.othersList);
      filter.runningSinceMs = runningSinceMs(nowMs);
      const { user, pages } = listExecutions(deps, actor, filter);
      return listAnswer(deps, user, pages, nowMs);
    },
  },
  listEndpoints: {
    handle: async (c, deps) =>
      json(release.endpointsJson(await listEndpoints(deps, c.get('actor'), pathId(c, 'id')))),
  },
  // Zoe's services have no progress, for which the coordinator would be called.
  getService: { handle: serviceAnswer(getService) },
  readServiceLog: { handle: serviceLog(openLines) },
});

const ended = (end: typeof terminateExecution): Partial<Route> => ({
  access: 'work',
  async handle(c, deps) {
    await end(deps, c.get('actor'), pathId(c, 'id'));
    return empty(deps.variant.removed);
  },
});

/** The body with its description in the words of Berth. */
const withDescription = (body: unknown): unknown =>
  typeof body === 'object' && body !== null && 'application' in body
    ? { ...body, application: readDescription(body.application) }
    : body;

/** There, names are longer, and may have tabs (H167). */
const submissionSchema = ownSubmissionSchema.extend({ name: nameOf(1_000, /^(?:\t|[^\p{Cc}\p{Cs}])*$/u) });

const discover = discovery((group) => (group === 'all' ? undefined : group));
