/** Routes of personal access tokens: parse, call the operation, render. */
import { Hono, type Context as HonoContext } from 'hono';
import {
  createPersonalToken,
  listPersonalTokens,
  type PersonalTokenMaking,
  revokePersonalToken,
} from '../../operations/accounts/personal-tokens.ts';
import type { ConfirmPassword } from '../../operations/accounts/users.ts';
import type { Context } from '../../operations/context.ts';
import type { BodyReader } from '../bodies/body-reader.ts';
import { keyOf } from '../idempotency.ts';
import {
  type NewPersonalTokenJson,
  personalTokenFields,
  personalTokenFilter,
  personalTokenJson,
  secondsOf,
} from '../json/personal-token-schemas.ts';
import { empty, json } from '../json/render.ts';
import { checked, type Env, pathId, queryOf } from '../request.ts';
import type { Statuses } from '../words.ts';

export function personalTokenRoutes(
  context: Context & { bodies: BodyReader },
  making: PersonalTokenMaking,
  { created, removed }: Pick<Statuses, 'created' | 'removed'>,
  confirmIn: (c: HonoContext) => ConfirmPassword,
): Hono<Env> {
  const routes = new Hono<Env>();
  routes.post('/', async (c) => {
    const input = async () => {
      const { expires_days, current_password, ...rest } = checked(
        personalTokenFields,
        await context.bodies.json(c),
        'body',
      );
      return { ...rest, expiresDays: expires_days, currentPassword: current_password };
    };
    const made = await createPersonalToken(context, making, c.get('actor'), input, confirmIn(c), keyOf(c));
    const answer: NewPersonalTokenJson = {
      token_id: made.id,
      token: made.token,
      expires_at: secondsOf(made.expiresMs),
    };
    return json(answer, created);
  });
  routes.get('/', async (c) => {
    const filter = async () => ({
      userId: checked(personalTokenFilter, queryOf(c), 'filter').user_id,
    });
    const all = await listPersonalTokens(context, c.get('actor'), filter);
    return json(Object.fromEntries(all.map((token) => [token.id, personalTokenJson(token)])));
  });
  routes.delete('/:id', async (c) => {
    await revokePersonalToken(context, c.get('actor'), pathId(c, 'id'));
    return empty(removed);
  });
  return routes;
}
