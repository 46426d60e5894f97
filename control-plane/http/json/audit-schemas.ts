/** Schemas and JSON of the audit log. */
import * as z from 'zod';
import {
  type AuditFilter,
  type AuditRow,
  type AuditTarget,
  auditActions,
  auditCredentials,
  auditRefusals,
  auditTargets,
} from '../../core/accounts/audit.ts';
import { snakeCase } from '../../core/model/field-names.ts';
import { integerText } from './account-fields.ts';
import { idOf } from './schemas.ts';

const DEFAULT_LIMIT = 100;
export const MAX_AUDIT_LIMIT = 1_000;

const targets = [...new Set(Object.values(auditTargets))];
const TARGET = new RegExp(`^(${targets.join('|')})(?:/(\\d{1,15}))?$`);

const secondsText = z
  .string()
  .regex(/^\d{1,12}(\.\d{1,6})?$/, 'must be seconds since 1970')
  .transform(Number)
  .pipe(z.number());

export const auditFilter = z
  .strictObject({
    user: z.string().max(64).describe('Name of the account at the time'),
    action: z.enum(auditActions).describe('What was done or refused'),
    target: z
      .string()
      .regex(TARGET, 'must be a kind, like user, or one object, like user/7')
      .describe('A kind, like user, or one object, like user/7'),
    since: secondsText.describe('In seconds since 1970'),
    until: secondsText.describe('In seconds since 1970, excluded'),
    before: integerText.describe('Only entries with smaller ids: the next page'),
    limit: integerText.pipe(z.int().min(1).max(MAX_AUDIT_LIMIT)).describe('The latest so many; default 100'),
  })
  .partial();

/** In the names of the core. */
export function auditFilterOf(query: z.output<typeof auditFilter>): { filter: AuditFilter; limit: number } {
  const { user, action, target, since, until, before, limit = DEFAULT_LIMIT } = query;
  const [, kind, id] = TARGET.exec(target ?? '') ?? [];
  return {
    limit,
    filter: {
      username: user,
      action,
      beforeId: before,
      sinceMs: since === undefined ? undefined : since * 1_000,
      untilMs: until === undefined ? undefined : until * 1_000,
      ...(kind !== undefined && {
        target: { kind: kind as AuditTarget, id: id === undefined ? undefined : Number(id) },
      }),
    },
  };
}

export const auditEntrySchema = z
  .strictObject({
    id: idOf('entry'),
    time: z.number().describe('In seconds since 1970; the first time, if several are counted'),
    user_id: z.int().positive().nullable().describe('Null without an account'),
    user: z.string().nullable().describe('Name of the account at the time'),
    credential: z.enum(auditCredentials).describe('What showed who it was'),
    token_id: z.int().positive().nullable().describe('Id of the personal access token'),
    address: z.string().nullable().describe('Address of the client; for failed logins, its network'),
    request_id: z.string().nullable().describe('X-Request-Id of the answer'),
    action: z.enum(auditActions).describe('What was done or refused'),
    target: z.string().nullable().describe('Kind and id, like user/7'),
    target_name: z.string().nullable().describe('Name of the target at the time'),
    fields: z.array(z.string()).describe('Names of the fields that were changed'),
    outcome: z.enum(['done', ...auditRefusals]).describe('Whether it was done, or why it was refused'),
    count: z.int().positive().describe('Refusals of one kind within a minute are one entry'),
  })
  .meta({ id: 'AuditEntry' });

export type AuditEntryJson = z.infer<typeof auditEntrySchema>;

export const auditEntryJson = (row: AuditRow): AuditEntryJson => ({
  id: row.id,
  time: row.timeMs / 1_000,
  user_id: row.userId,
  user: row.username,
  credential: row.credential,
  token_id: row.tokenId,
  address: row.address,
  request_id: row.requestId,
  action: row.action,
  target: row.targetId === null ? null : `${auditTargets[row.action]}/${row.targetId}`,
  target_name: row.targetName,
  // Those of a stream are what it was opened to, and not names of fields.
  fields: auditTargets[row.action] === 'service' ? [...row.fields] : row.fields.map(snakeCase),
  outcome: row.outcome,
  count: row.count,
});

/** The name of a field in the API. */
