/** Operations on secrets and files for the OpenAPI document (H575, H630). */
import * as z from 'zod';
import { type SecretKind, secretKinds } from '../../core/accounts/secret.ts';
import {
  credentialsFields,
  credentialsSchema,
  resealingSchema,
  secretFields,
  secretSchema,
} from '../json/secret-schemas.ts';
import type { Operation, Scheme } from './operation.ts';

const id = z.int().positive();
const ANSWERS = { secret: z.strictObject({ secret_id: id }), file: z.strictObject({ file_id: id }) };

export const secretOperations = (access: readonly Scheme[]): Operation[] => [
  ...secretKinds.flatMap((kind) => operationsOf(kind, access)),
  ...registryOperations(access),
  {
    ...{ tag: 'Secrets', access },
    method: 'post',
    path: '/secret/encrypt',
    summary:
      'Encrypt some values with the first key of the setting, as an administrator; repeat while values are left',
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
      summary:
        'Set the credentials for a registry, of your own or of all users for an administrator; they are never shown again',
      body: credentialsFields,
      answer: z.strictObject({ registry_id: id }),
      errors: [400, 409, 413],
    },
    {
      ...common,
      method: 'get',
      path: '/registry',
      summary: 'List by id for which registries you and all users have credentials',
      answer: z.record(z.string(), credentialsSchema),
      errors: [],
    },
    {
      ...common,
      method: 'delete',
      path: '/registry/:id',
      summary: 'Remove credentials of your own, or of all users for an administrator',
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
      summary: `Set a ${kind} of your own, or of all users for an administrator; the value is never shown again`,
      body: secretFields[kind],
      answer: ANSWERS[kind],
      errors: [400, 409, 413],
    },
    {
      ...common,
      method: 'get',
      path: `/${kind}`,
      summary: `List your ${kind}s and those of all users by id, without values`,
      answer: z.record(z.string(), secretSchema),
      errors: [],
    },
    {
      ...common,
      method: 'delete',
      path: `/${kind}/:id`,
      summary: `Remove a ${kind} of your own, or of all users for an administrator`,
      answer: 'empty',
      errors: [404],
    },
  ];
}
