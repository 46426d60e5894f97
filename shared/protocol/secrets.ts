/** What an agent fetches before it starts a service that uses secrets (PROTOCOL.md P220 to P222). */
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
