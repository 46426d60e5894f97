/** Schemas of requests: the query of events, the grant of a token, and the bodies and queries of hosts. */
import * as z from 'zod';
import { MAX_LABEL_LENGTH, MAX_LABELS } from '../../../shared/protocol/bounds.ts';
import { hostNameSchema } from '../../../shared/protocol/up.ts';
import { booleanText, nameFilter } from './account-fields.ts';

export const eventQuery = z
  .strictObject({
    last_event_id: z
      .string()
      .describe(
        'Like the header Last-Event-ID, which takes precedence and which browsers send only to reconnect',
      ),
  })
  .partial();

export const grantSchema = z.object({
  grant_type: z
    .enum(['password', 'refresh_token'])
    .describe('What the request has: Basic credentials, or a refresh token as the bearer token'),
});

export const hostLabels = z
  .array(z.string().regex(/^[^\s,]{1,64}$/, 'must be 1 to 64 characters without spaces and commas'))
  .max(50);

/** BERTH_AGENT_NAME has the same rule. */
const hostName = hostNameSchema.regex(
  /^[A-Za-z0-9][A-Za-z0-9_.-]*$/,
  'must begin with a letter or digit, and contain only letters, digits, "_", "." and "-"',
);

export const joinTokenFields = z.strictObject({
  name: hostName.optional().describe('The only name that the host may have; absent: any'),
  labels: hostLabels.optional().describe('The labels of the administrator for the host'),
});

/** Clients send them as they have got them. */
const offeredLabels: z.ZodType<readonly string[], readonly string[]> = z
  .array(z.string().max(MAX_LABEL_LENGTH))
  .max(MAX_LABELS);

export const hostOffer = z.strictObject({
  labels: offeredLabels.describe('Labels'),
  memory: z.int().nonnegative().describe('Bytes'),
  cores: z.number().nonnegative().describe('Cores'),
});

export const hostChanges = z
  .strictObject({
    schedulable: z
      .boolean()
      .describe('False drains the host: elastic services leave, essential services stay'),
    labels: hostLabels.describe('The labels of the administrator, which are added to those of its agent'),
    accept: hostOffer.describe('The "pending" of the host, unchanged: from now on it is agreed'),
    force: z.boolean().describe('Allowed with schedulable false: essential services also leave'),
  })
  .partial();

export const hostFilter = nameFilter;

export const hostRemoval = z
  .strictObject({ force: booleanText.describe('Whether to remove a disconnected host that is not lost yet') })
  .partial();

export type JoinTokenFieldsJson = z.input<typeof joinTokenFields>;
export type HostChangesJson = z.input<typeof hostChanges>;
