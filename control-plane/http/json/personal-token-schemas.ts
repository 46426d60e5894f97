/** Schemas and JSON of personal access tokens. A token itself is only in the answer to its creation. */
import * as z from 'zod';
import { scopes } from '../../core/accounts/action.ts';
import type { PersonalToken } from '../../core/accounts/personal-token.ts';
import { integerText, name } from './account-fields.ts';
import { secondsOf } from './render.ts';
import { idOf } from './schemas.ts';

const MAX_DAYS = 36_500;

export const personalTokenFields = z.strictObject({
  name: name.describe('What the token is for'),
  scopes: z.array(z.enum(scopes)).min(1).describe('What it may do, within what your role allows'),
  expires_days: z
    .int()
    .min(1)
    .max(MAX_DAYS)
    .nullable()
    .optional()
    .describe(
      'Days for which it is valid; null: for ever. By default 90, or less where the operator says so',
    ),
  current_password: z.string().optional().describe('Required unless the request has it as HTTP Basic'),
});

export const personalTokenFilter = z.strictObject({
  user_id: integerText.optional().describe('Id of the user; absent: yourself'),
});

const seconds = (text: string) => z.number().describe(`${text}, in seconds since 1970`);

export const personalTokenSchema = z
  .strictObject({
    id: idOf('token'),
    name: z.string().describe('What the token is for'),
    user_id: idOf('user'),
    scopes: z.array(z.enum(scopes)).describe('What it may do, within what the role allows'),
    created_at: seconds('When it was created'),
    expires_at: seconds('When it expires; null: never').nullable(),
    last_used_at: seconds('The minute of its last use; null: none').nullable(),
  })
  .meta({ id: 'PersonalToken' });

export const newPersonalTokenSchema = z
  .strictObject({
    token_id: idOf('token'),
    token: z.string().describe('The personal access token, which cannot be read again later'),
    expires_at: seconds('When it expires; null: never').nullable(),
  })
  .meta({ id: 'NewPersonalToken' });

export type PersonalTokenFieldsJson = z.input<typeof personalTokenFields>;
export type PersonalTokenJson = z.infer<typeof personalTokenSchema>;
export type NewPersonalTokenJson = z.infer<typeof newPersonalTokenSchema>;

export const personalTokenJson = (token: PersonalToken): PersonalTokenJson => ({
  id: token.id,
  name: token.name,
  user_id: token.userId,
  scopes: [...token.scopes],
  created_at: token.madeMs / 1_000,
  expires_at: secondsOf(token.expiresMs),
  last_used_at: secondsOf(token.usedMs),
});
