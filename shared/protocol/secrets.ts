/**
 * What an agent fetches before it starts a service that uses secrets (PROTOCOL.md P220 to P222), or pulls
 * with its owner's credentials for a registry (P232 to P234).
 */
import * as z from 'zod';
import { MAX_ENVIRONMENT, MAX_EXPANDED_LENGTH, MAX_PLAIN_LENGTH } from './bounds.ts';

/** `GET` with `service` and `generation` in the query, and a proof for `secretsAudience` as Bearer. */
export const SECRETS_PATH = '/agent/v1/secrets';

/** The audience of such a proof. A name of a deployment has no `/`, so no proof serves both purposes. */
export const secretsAudience = (deployment: string): string => `${deployment}/secrets`;

/** Files of one service. */
export const MAX_FILES = 64;
/** Bytes of all values that a service gets, which stay in the memory of its host. */
export const MAX_START_SECRET_BYTES = 2 ** 21;
/** Bytes of the answer: in JSON, a control character takes six. */
export const MAX_SECRETS_ANSWER_BYTES = 2 ** 24;

/** Must never be logged or stored. */
export const startSecretsSchema = z.object({
  /** The complete environment, as in an assignment. */
  environment: z
    .array(z.tuple([z.string().max(MAX_PLAIN_LENGTH), z.string().max(MAX_EXPANDED_LENGTH)]))
    .max(MAX_ENVIRONMENT),
  /** Contents in base64, and where the container sees them. */
  files: z
    .array(z.object({ path: z.string().max(MAX_PLAIN_LENGTH), content: z.string().max(MAX_EXPANDED_LENGTH) }))
    .max(MAX_FILES),
});
export type StartSecrets = z.infer<typeof startSecretsSchema>;

/** `GET` with `service` and `generation` in the query, and a proof for `credentialsAudience` as Bearer. */
export const CREDENTIALS_PATH = '/agent/v1/credentials';

/** The audience of such a proof, which serves no other purpose. */
export const credentialsAudience = (deployment: string): string => `${deployment}/credentials`;

/** Fingerprint of credentials: another one each time they are set. Can be a part of an image's tag. */
export const credentialsIdSchema = z
  .string()
  .max(33)
  .regex(/^\d{1,16}\.\d{1,16}$/);

export const MAX_USERNAME_LENGTH = 255;
/** Characters of a password or token: some registries give out long ones. */
export const MAX_PASSWORD_LENGTH = 16_384;

/** Bytes of the answer: in JSON, a character takes six at most. */
export const MAX_CREDENTIALS_ANSWER_BYTES = 2 ** 17;

/** Must never be logged or stored. */
export const registryCredentialsSchema = z.object({
  id: credentialsIdSchema,
  /** The only host, with its port, that may receive them. */
  registry: z.string(),
  username: z.string().max(MAX_USERNAME_LENGTH),
  password: z.string().min(1).max(MAX_PASSWORD_LENGTH),
  /** Whether an administrator has set them for all users. */
  ofAll: z.boolean(),
});
export type RegistryCredentials = z.infer<typeof registryCredentialsSchema>;

/** Null: they were removed since the start was assigned. */
export const credentialsAnswerSchema = z.object({ credentials: registryCredentialsSchema.nullable() });
export type CredentialsAnswer = z.infer<typeof credentialsAnswerSchema>;

/** Docker Hub, the registry of names without one. */
export const DOCKER_HUB = 'docker.io';

const HUB_NAMES: ReadonlySet<string> = new Set([DOCKER_HUB, 'index.docker.io']);

/**
 * Host and port of the registry that an engine would pull `image` from, in small letters. The first part of a
 * name is a registry if it looks like a host name. Newer engines also take a part with a capital letter for
 * one.
 */
export function imageRegistry(image: string): string {
  const [first = '', ...rest] = image.split('/');
  const isHost = rest.length > 0 && (/[.:A-Z]/.test(first) || first === 'localhost');
  if (!isHost || HUB_NAMES.has(first)) return DOCKER_HUB;
  const host = first.toLowerCase();
  // An engine takes `Docker.io` for a host of that name, and not for Docker Hub.
  return HUB_NAMES.has(host) ? first : host;
}

/** The longest host name of DNS, with a port. */
export const MAX_REGISTRY_LENGTH = 259;

const HOST = /^(?:[a-z0-9.-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?$/;

/**
 * A registry as a person writes it, in the form of `imageRegistry`; undefined if no image name could have it.
 * Docker's own names of Docker Hub count, its address included.
 */
export function registryNamed(text: string): string | undefined {
  const host = text.trim().toLowerCase();
  if (host === 'https://index.docker.io/v1/' || HUB_NAMES.has(host)) return DOCKER_HUB;
  if (host.length > MAX_REGISTRY_LENGTH || !HOST.test(host)) return undefined;
  return imageRegistry(`${host}/image`) === host ? host : undefined;
}
