/** Routes of secrets, files and credentials of registries (H575, H630). No answer has a value. */
import * as z from 'zod';
import { type SecretKind, secretKinds } from '../../core/accounts/secret.ts';
import { listCredentials, removeCredentials, setCredentials } from '../../operations/secrets/registries.ts';
import { listSecrets, removeSecret, resealSecrets, setSecret } from '../../operations/secrets/secrets.ts';
import { empty, json } from '../json/render.ts';
import { idOf } from '../json/schemas.ts';
import {
  credentialsFields,
  credentialsJson,
  credentialsSchema,
  resealingSchema,
  secretFields,
  secretJson,
  secretSchema,
} from '../json/secret-schemas.ts';
import { checked, pathId } from '../request.ts';
import type { Route } from './route.ts';

const common = { tag: 'Secrets', access: 'user' } as const;
const ANSWERS = {
  secret: z.strictObject({ secret_id: idOf('secret') }),
  file: z.strictObject({ file_id: idOf('file') }),
};
/** As the ids of operations have it. */
const nameOf = (kind: SecretKind) => (kind === 'secret' ? 'Secret' : 'File');

const routesOfKind = (kind: SecretKind): Route[] => [
  {
    ...common,
    method: 'post',
    path: `/${kind}`,
    id: `set${nameOf(kind)}`,
    summary: `Set a ${kind} of your own, or of all users for an administrator; the value is never shown again`,
    description: `A ${kind} of the same name is replaced; services that run keep the value with which they started.`,
    body: secretFields[kind],
    answer: ANSWERS[kind],
    errors: [409],
    async handle(c, deps) {
      const input = async () => {
        const fields = checked(secretFields[kind], await deps.bodies.json(c), 'body');
        return { name: fields.name, value: fields.value, isOfAll: fields.for_all ?? false };
      };
      const id = await setSecret(deps, c.get('actor'), kind, input);
      return json({ [`${kind}_id`]: id }, deps.variant.created);
    },
  },
  {
    ...common,
    method: 'get',
    path: `/${kind}`,
    id: `list${nameOf(kind)}s`,
    summary: `List your ${kind}s and those of all users by id, without values`,
    description: `Descriptions may refer to any ${kind} in this list by its name.`,
    answer: z.record(z.string(), secretSchema),
    errors: [],
    async handle(c, deps) {
      const all = await listSecrets(deps, c.get('actor'), kind);
      return json(Object.fromEntries(all.map((secret) => [secret.id, secretJson(secret)])));
    },
  },
  {
    ...common,
    method: 'delete',
    path: `/${kind}/:id`,
    id: `remove${nameOf(kind)}`,
    summary: `Remove a ${kind} of your own, or of all users for an administrator`,
    description: `Services that run keep the value; a later start that refers to the ${kind} fails.`,
    answer: 'empty',
    errors: [404],
    async handle(c, deps) {
      await removeSecret(deps, c.get('actor'), kind, pathId(c, 'id'));
      return empty(deps.variant.removed);
    },
  },
];

export const secretRoutes: readonly Route[] = [
  ...secretKinds.flatMap(routesOfKind),
  {
    ...common,
    method: 'post',
    path: '/registry',
    id: 'setRegistryCredentials',
    summary:
      'Set the credentials for a registry, of your own or of all users for an administrator; they are never shown again',
    description:
      'Credentials for the same registry are replaced. Your own take precedence over those of all users.',
    body: credentialsFields,
    answer: z.strictObject({ registry_id: idOf('credentials') }),
    errors: [409],
    async handle(c, deps) {
      const input = async () => {
        const { for_all = false, ...given } = checked(credentialsFields, await deps.bodies.json(c), 'body');
        return { ...given, isOfAll: for_all };
      };
      return json({ registry_id: await setCredentials(deps, c.get('actor'), input) }, deps.variant.created);
    },
  },
  {
    ...common,
    method: 'get',
    path: '/registry',
    id: 'listRegistryCredentials',
    summary: 'List by id for which registries you and all users have credentials',
    description: 'The list has neither user names nor passwords.',
    answer: z.record(z.string(), credentialsSchema),
    errors: [],
    async handle(c, deps) {
      const all = await listCredentials(deps, c.get('actor'));
      return json(Object.fromEntries(all.map((one) => [one.id, credentialsJson(one)])));
    },
  },
  {
    ...common,
    method: 'delete',
    path: '/registry/:id',
    id: 'removeRegistryCredentials',
    summary: 'Remove credentials of your own, or of all users for an administrator',
    description: 'Later pulls from that registry go without them.',
    answer: 'empty',
    errors: [404],
    async handle(c, deps) {
      await removeCredentials(deps, c.get('actor'), pathId(c, 'id'));
      return empty(deps.variant.removed);
    },
  },
  {
    ...common,
    method: 'post',
    path: '/secret/encrypt',
    id: 'encryptSecrets',
    summary:
      'Encrypt some values with the first key of the setting, as an administrator; repeat while values are left',
    description: 'A request encrypts a bounded number of values, so that it ends soon.',
    answer: resealingSchema,
    errors: [409],
    handle: async (c, deps) => json(await resealSecrets(deps, c.get('actor'))),
  },
];
