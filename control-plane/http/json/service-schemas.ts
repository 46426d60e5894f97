/** Schemas of services and of their endpoints, as the API shows them. */
import * as z from 'zod';
import { serviceSchema } from '../../../shared/application-schema.ts';
import { backendStatuses, serviceStatuses } from '../../core/model/service.ts';
import { serviceHealths } from '../../core/views/execution-views.ts';
import { idOf } from './schemas.ts';

export const endpointsSchema = z
  .array(z.tuple([z.string(), z.string()]).describe('Name and URL'))
  .meta({ id: 'Endpoints' });

const seconds = (meaning: string) => z.number().describe(`${meaning}, in seconds since the epoch (UTC)`);

const startSchema = z
  .strictObject({
    start: z.int().positive().describe('The number of the start, counted over all hosts'),
    host: z.string().describe('The name that the host had'),
    time_start: seconds('When the start was decided'),
    time_run: seconds('When its container was reported to run; null if it never was').nullable(),
    time_end: seconds('When its end was reported; null if it has not ended').nullable(),
    exit_code: z.int().nullable().describe('Null if it has not ended, or has ended without an exit code'),
    reason: z.string().describe('How it ended, for people; empty if it has not ended'),
    ended_execution: z.boolean().describe('Whether its end has decided that of the execution'),
  })
  .meta({ id: 'ServiceStart' });

export const serviceViewSchema = z
  .strictObject({
    id: idOf('service'),
    name: z.string().describe('The service group and a number'),
    service_group: z.string().describe('Name of the service in the description'),
    execution_id: idOf('execution'),
    status: z.enum(serviceStatuses).describe('State of the service'),
    backend_status: z.enum(backendStatuses).describe('State of the container when its host last reported it'),
    ip_address: z.string().describe('Empty while there is no container'),
    backend_id: z.string().describe('Id of the container; empty while there is none'),
    error_message: z.string().nullable().describe('Why it could not start or has failed; null if neither'),
    description: serviceSchema.describe('The part of the application description that it was made from'),
    progress: z
      .string()
      .optional()
      .describe(
        'What its host is doing for its start, e.g. pulling its image; absent when it is doing nothing',
      ),
    exit_code: z
      .int()
      .nullable()
      .optional()
      .describe(
        'Exit code of its last container if that ended by itself, else null; only under /native/api/0.7',
      ),
    endpoints: endpointsSchema.optional().describe('Its endpoints; only under /native/api/0.7'),
    applications: z
      .array(
        z.strictObject({
          name: z.string().describe('Name of the port'),
          port_number: z.int().describe('Number of the port in the container'),
          url: z.string().describe('Where a browser opens it'),
        }),
      )
      .optional()
      .describe(
        'Where its web applications are, each with the name of its port; empty if the deployment has no ' +
          'addresses for them; only under /native/api/0.7',
      ),
    shared: z
      .boolean()
      .optional()
      .describe('Whether every user may use its web applications; only under /native/api/0.7'),
    health: z
      .enum(serviceHealths)
      .nullable()
      .optional()
      .describe(
        'What checks of its health have found; null if it has none, or does not run; only under /native/api/0.7',
      ),
    time_restart: seconds(
      'When it is started again after its end; null if no restart is due; only under /native/api/0.7',
    )
      .nullable()
      .optional(),
    history: z
      .array(startSchema)
      .optional()
      .describe('Its last 20 starts, the oldest first; only under /native/api/0.7'),
  })
  .meta({ id: 'Service' });

export type EndpointsJson = z.infer<typeof endpointsSchema>;
export type StartJson = z.infer<typeof startSchema>;
export type ServiceJson = z.infer<typeof serviceViewSchema>;
