/** Routes of secrets and files: parse, call the operation, render. No answer has a value. */
import { Hono } from 'hono';
import type { SecretKind, SecretRules } from '../../core/accounts/secret.ts';
import type { Context } from '../../operations/context.ts';
import { listSecrets, removeSecret, resealSecrets, setSecret } from '../../operations/secrets/secrets.ts';
import type { BodyReader } from '../bodies/body-reader.ts';
import { empty, json } from '../json/render.ts';
import { secretFields, secretJson } from '../json/secret-schemas.ts';
import { checked, type Env, pathId } from '../request.ts';
import type { Statuses } from '../words.ts';

export function secretRoutes(
  context: Context & { bodies: BodyReader; secretRules: SecretRules },
  kind: SecretKind,
  { created, removed }: Pick<Statuses, 'created' | 'removed'>,
): Hono<Env> {
  const routes = new Hono<Env>();
  routes.post('/', async (c) => {
    const input = async () => {
      const {
        name,
        value,
        for_all = false,
      } = checked(secretFields[kind], await context.bodies.json(c), 'body');
      return { name, value, isOfAll: for_all };
    };
    return json({ [`${kind}_id`]: await setSecret(context, c.get('actor'), kind, input) }, created);
  });
  routes.get('/', async (c) => {
    const all = await listSecrets(context, c.get('actor'), kind);
    return json(Object.fromEntries(all.map((secret) => [secret.id, secretJson(secret)])));
  });
  routes.delete('/:id', async (c) => {
    await removeSecret(context, c.get('actor'), kind, pathId(c, 'id'));
    return empty(removed);
  });
  // Values of both kinds.
  if (kind === 'secret')
    routes.post('/encrypt', async (c) => json(await resealSecrets(context, c.get('actor'))));
  return routes;
}
