/** Routes of credentials of registries: parse, call the operation, render. No answer has a password. */
import { Hono } from 'hono';
import type { SecretRules } from '../../core/accounts/secret.ts';
import type { Context } from '../../operations/context.ts';
import { listCredentials, removeCredentials, setCredentials } from '../../operations/secrets/registries.ts';
import type { BodyReader } from '../bodies/body-reader.ts';
import { empty, json } from '../json/render.ts';
import { credentialsFields, credentialsJson } from '../json/secret-schemas.ts';
import { checked, type Env, pathId } from '../request.ts';
import type { Statuses } from '../words.ts';

export function registryRoutes(
  context: Context & { bodies: BodyReader; secretRules: SecretRules },
  { created, removed }: Pick<Statuses, 'created' | 'removed'>,
): Hono<Env> {
  const routes = new Hono<Env>();
  routes.post('/', async (c) => {
    const input = async () => {
      const { for_all = false, ...given } = checked(credentialsFields, await context.bodies.json(c), 'body');
      return { ...given, isOfAll: for_all };
    };
    return json({ registry_id: await setCredentials(context, c.get('actor'), input) }, created);
  });
  routes.get('/', async (c) => {
    const all = await listCredentials(context, c.get('actor'));
    return json(Object.fromEntries(all.map((one) => [one.id, credentialsJson(one)])));
  });
  routes.delete('/:id', async (c) => {
    await removeCredentials(context, c.get('actor'), pathId(c, 'id'));
    return empty(removed);
  });
  return routes;
}
