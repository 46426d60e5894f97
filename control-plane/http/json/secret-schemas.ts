/** Schemas and JSON of secrets, files and credentials of registries. No schema of an answer has a value. */
import * as z from 'zod';
import {
  MAX_PASSWORD_LENGTH,
  MAX_REGISTRY_LENGTH,
  MAX_USERNAME_LENGTH,
  registryNamed,
} from '../../../shared/protocol/secrets.ts';
import {
  MAX_FILE_BYTES,
  MAX_SECRET_BYTES,
  type Secret,
  type SecretKind,
} from '../../core/accounts/secret.ts';
import { idOf } from './schemas.ts';

const MAX_NAME_LENGTH = 64;

const utf8 = new TextEncoder();

const forAll = z
  .boolean()
  .optional()
  .describe('For all users instead of yourself alone; only administrators may set it');

/** As descriptions refer to it. */
export const secretName = z
  .string()
  .max(MAX_NAME_LENGTH)
  .regex(/^[A-Za-z][A-Za-z0-9_-]*$/, 'must be letters, digits, "_" and "-", beginning with a letter')
  .meta({ examples: ['DB_PASSWORD'] });

export const fileName = z
  .string()
  .max(MAX_NAME_LENGTH)
  .regex(/^[A-Za-z][A-Za-z0-9._-]*$/, 'must be letters, digits, ".", "_" and "-", beginning with a letter')
  .meta({ examples: ['server.pem'] });

const text = z
  .string()
  .min(1)
  .max(MAX_SECRET_BYTES)
  .refine((value) => !value.includes('\0') && value.isWellFormed(), 'must be text without NUL characters')
  .transform((value) => utf8.encode(value))
  .refine((bytes) => bytes.length <= MAX_SECRET_BYTES, `must have at most ${MAX_SECRET_BYTES} bytes`);

const MAX_BASE64_LENGTH = 4 * Math.ceil(MAX_FILE_BYTES / 3);

const bytes = z
  .string()
  .max(MAX_BASE64_LENGTH, `must have at most ${MAX_FILE_BYTES} bytes`)
  .regex(/^[A-Za-z0-9+/]*={0,2}$/, 'must be base64')
  .refine((value) => value.length % 4 === 0, 'must be base64, with its padding')
  .transform((value) => Uint8Array.from(Buffer.from(value, 'base64')))
  .refine((value) => value.length <= MAX_FILE_BYTES, `must have at most ${MAX_FILE_BYTES} bytes`);

export const secretFields = {
  secret: z.strictObject({
    name: secretName.describe('The name by which descriptions refer to it'),
    value: text.describe(
      `The value, of at most ${MAX_SECRET_BYTES} bytes in UTF-8, which cannot be read again`,
    ),
    for_all: forAll,
  }),
  file: z.strictObject({
    name: fileName.describe('The name by which descriptions refer to it'),
    value: bytes.describe(
      `The content in base64, of at most ${MAX_FILE_BYTES} bytes, which cannot be read again`,
    ),
    for_all: forAll,
  }),
} as const satisfies Record<SecretKind, z.ZodType>;

export const secretSchema = z
  .strictObject({
    id: idOf('secret or file'),
    name: z.string().describe('The name by which descriptions refer to it'),
    for_all: z.boolean().describe('Whether all users may use it'),
    size: z.int().nonnegative().describe('Bytes of the value'),
    set_at: z.number().describe('When the value was set, in seconds since 1970'),
  })
  .meta({ id: 'Secret' });

const CONTROL = /\p{Cc}/u;

/** The host of a registry, as image names have it. */
export const registryName = z
  .string()
  .max(MAX_REGISTRY_LENGTH)
  .transform((given, context) => {
    const registry = registryNamed(given);
    if (registry !== undefined) return registry;
    context.addIssue({
      code: 'custom',
      message:
        'must be a host as image names have it, with its port if they do, for example registry.example.org:5000',
    });
    return z.NEVER;
  })
  .meta({ examples: ['registry.example.org:5000'] });

export const registryUser = z
  .string()
  .min(1)
  .max(MAX_USERNAME_LENGTH)
  .refine((name) => !name.includes(':') && !CONTROL.test(name), 'must have no ":" and no control characters');

export const registryPassword = z
  .string()
  .min(1)
  .max(MAX_PASSWORD_LENGTH)
  .refine((word) => !CONTROL.test(word) && word.isWellFormed(), 'must have no control characters');

export const credentialsFields = z.strictObject({
  registry: registryName.describe('Host of the registry, and its port if image names have it'),
  username: registryUser.describe(
    'User name at the registry; `<token>` if the password is an identity token',
  ),
  password: registryPassword.describe('Password or token, which cannot be read again'),
  for_all: forAll,
});

export const credentialsSchema = z
  .strictObject({
    id: idOf('credentials'),
    registry: z.string().describe('Host of the registry, and its port if image names have it'),
    for_all: z.boolean().describe('Whether the pulls of all users use them'),
    set_at: z.number().describe('When they were set, in seconds since 1970'),
  })
  .meta({ id: 'RegistryCredentials' });

export type CredentialsJson = z.infer<typeof credentialsSchema>;

export const credentialsJson = ({ id, name, userId, setMs }: Secret): CredentialsJson => ({
  id,
  registry: name,
  for_all: userId === null,
  set_at: setMs / 1_000,
});

export const resealingSchema = z
  .strictObject({
    encrypted: z.int().describe('Values that this request has encrypted with the first key'),
    left: z.int().describe('Values for further requests'),
    unreadable: z.int().describe('Values whose key is no longer in the setting'),
  })
  .meta({ id: 'SecretEncryption' });

export type ResealingJson = z.infer<typeof resealingSchema>;
export type SecretJson = z.infer<typeof secretSchema>;

export const secretJson = ({ id, name, userId, bytes: size, setMs }: Secret): SecretJson => ({
  id,
  name,
  for_all: userId === null,
  size,
  set_at: setMs / 1_000,
});
