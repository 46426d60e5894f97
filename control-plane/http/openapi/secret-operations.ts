/** Operations on secrets and files for the OpenAPI document (H575, H630). */
import * as z from 'zod';
import { type SecretKind, secretKinds } from '../../core/accounts/secret.ts';
import { idOf } from '../json/schemas.ts';
import {
  credentialsFields,
  credentialsSchema,
  resealingSchema,
  secretFields,
  secretSchema,
} from '../json/secret-schemas.ts';
import type { Operation, Scheme } from './operation.ts';

const ANSWERS = {
  secret: z.strictObject({ secret_id: idOf('secret') }),
  file: z.strictObject({ file_id: idOf('file') }),
};
/** As the ids of operations have it. */
const nameOf = (kind: SecretKind) => (kind === 'secret' ? 'Secret' : 'File');

export const secretOperations = (access: readonly Scheme[]): Operation[] => [
  ...secretKinds.flatMap((kind) => operationsOf(kind, access)),
  ...registryOperations(access),
  {
    ...{ tag: 'Secrets', access },
    method: 'post',
    path: '/secret/encrypt',
    id: 'encryptSecrets',
    summary:
      'Encrypt some values with the first key of the setting, as an administrator; repeat while values are left',
    description: 'A request encrypts a bounded number of values, so that it ends soon.',
    answer: resealingSchema,
    errors: [409],
  },
];

function registryOperations(access: readonly Scheme[]): Operation[] {
  const common = { tag: 'Secrets', access } as const;
  return [
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
    },
  ];
}

function operationsOf(kind: SecretKind, access: readonly Scheme[]): Operation[] {
  const common = { tag: 'Secrets', access } as const;
  return [
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
    },
  ];
}
