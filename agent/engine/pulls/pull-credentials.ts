/** Fetches the credentials for one pull, right before it. Keeps none (P232, P233). */

import type { Assignment, ServiceKey } from '../../../shared/protocol/assignment.ts';
import type { CredentialsAnswer, RegistryCredentials } from '../../../shared/protocol/secrets.ts';
import { EngineError } from '../engine.ts';
import type { StartAnswer } from '../folders/start-secrets.ts';

/** Fetches the credentials for the image of a start. Never rejects. */
export type FetchCredentials = (
  key: ServiceKey,
  signal: AbortSignal,
) => Promise<StartAnswer<CredentialsAnswer>>;

/**
 * The credentials that the assignment requires; undefined if it requires none. Throws EngineError:
 * `unreachable` is tried again, and `temporary` leads to a start with what the owner has now.
 */
export async function pullCredentials(
  { credentials: id, service, generation }: Assignment,
  fetchCredentials: FetchCredentials,
  { signal, progress }: { signal: AbortSignal; progress(detail: string): void },
): Promise<RegistryCredentials | undefined> {
  if (id === undefined) return undefined;
  const answer = await fetchCredentials({ service, generation }, signal);
  if (answer.kind === 'values') {
    const { credentials } = answer.values;
    if (credentials?.id === id) return credentials;
    throw new EngineError(
      'temporary',
      "the credentials for the image's registry were changed or removed meanwhile",
    );
  }
  const { kind, message } = answer;
  if (kind === 'refused') throw new EngineError('permanent', message);
  progress(`waiting for the credentials of its registry: ${message}`);
  throw new EngineError('unreachable', `the credentials of its registry can't be fetched: ${message}`);
}
