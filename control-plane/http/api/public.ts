/** Routes without authentication (api-spec: Auth none). */
import * as z from 'zod';
import { APPLICATION_FORMAT_VERSION, applicationSchema } from '../../../shared/application-schema.ts';
import { schedulerSummary } from '../../operations/cluster/statistics.ts';
import { discover } from '../../operations/executions/services.ts';
import { descriptionSteps } from '../../operations/executions/submission-input.ts';
import { API_VERSION, VERSION } from '../../version.ts';
import { json, schedulerJson } from '../json/render.ts';
import {
  type DiscoveryJson,
  discoverySchema,
  type InfoJson,
  infoSchema,
  statisticsSchema,
} from '../json/schemas.ts';
import { pathId } from '../request.ts';
import type { Variant } from '../variant.ts';
import type { Route } from './route.ts';

export const publicRoutes = ({ validatePath }: Variant): Route[] => [
  {
    method: 'get',
    path: '/info',
    tag: 'Public',
    id: 'getInfo',
    summary: 'Read the release, the deployment name and the versions',
    description: 'The answer is the same for everybody.',
    access: 'public',
    answer: infoSchema,
    errors: [],
    handle: infoOf(VERSION),
  },
  {
    method: 'post',
    path: validatePath,
    tag: 'Public',
    id: 'validateApplication',
    summary: 'Check an application description, bare or wrapped',
    description:
      'The description is the whole body, or its field `application`. An invalid one is a 400 with every problem and its place; nothing is stored.',
    access: 'public',
    body: z.union([
      applicationSchema,
      z.object({ application: applicationSchema.describe('The application description') }),
    ]),
    answer: z.strictObject({}),
    errors: [403],
    async handle(c, { bodies }) {
      await bodies.jsonInSteps(c, (body) => descriptionSteps(body));
      return json({});
    },
  },
  {
    method: 'get',
    path: '/statistics/scheduler',
    tag: 'Public',
    id: 'getSchedulerStatistics',
    summary: 'Numbers of queued, running and ending executions of all users, and of hosts',
    description: 'The figures name neither users nor executions.',
    access: 'public',
    answer: statisticsSchema,
    errors: [],
    handle: async (_, deps) => json(schedulerJson(await schedulerSummary(deps))),
  },
  {
    method: 'get',
    path: '/discovery/by_group/:id/:group',
    tag: 'Public',
    id: 'discoverServiceGroup',
    summary: 'List the DNS names of the active instances of a service group',
    description:
      'Services of an execution find each other by these names. The list is empty while no instance is active.',
    access: 'public',
    answer: discoverySchema,
    errors: [404],
    handle: discovery((group) => group),
  },
];

export const infoOf =
  (version: string): Route['handle'] =>
  (_, { deploymentName }) =>
    json({
      version,
      deployment_name: deploymentName,
      application_format_version: APPLICATION_FORMAT_VERSION,
      api_version: API_VERSION,
    } satisfies InfoJson);

/** `groupOf`: the group that a name in the path means; undefined: all groups. */
export const discovery =
  (groupOf: (name: string) => string | undefined): Route['handle'] =>
  async (c, deps) => {
    const [execution_id = '', group = ''] = [c.req.param('id'), c.req.param('group')];
    const dns_names = await discover(deps, pathId(c, 'id'), groupOf(group));
    return json({ service_type: group, execution_id, dns_names } satisfies DiscoveryJson);
  };
