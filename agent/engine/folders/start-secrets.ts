/** Completes an assignment with the values of its secrets, right before a start. Keeps none in memory. */
import type { Assignment, ServiceKey } from '../../../shared/protocol/assignment.ts';
import type { StartSecrets } from '../../../shared/protocol/secrets.ts';
import { EngineError, type Start } from '../engine.ts';
import type { SecretFiles } from './secret-files.ts';

/** The control plane's answer. `refused`: for good; `unreachable`: a later attempt may succeed. */
export type StartAnswer<Values> =
  | { kind: 'values'; values: Values }
  | { kind: 'refused' | 'unreachable'; message: string };

/** Fetches the secrets of a start. Never rejects. */
export type FetchSecrets = (key: ServiceKey, signal: AbortSignal) => Promise<StartAnswer<StartSecrets>>;

export interface SecretSource {
  fetchSecrets: FetchSecrets;
  secretFiles: SecretFiles;
}

/**
 * The start with its environment and its files. Throws EngineError if there are no values: `unreachable` is
 * tried again (P222).
 */
export async function withSecrets(
  assignment: Assignment,
  {
    fetchSecrets,
    secretFiles,
    signal,
    progress,
  }: SecretSource & { signal: AbortSignal; progress(detail: string): void },
): Promise<Start> {
  if (!assignment.secrets) return assignment;
  const { service, generation } = assignment;
  const answer = await fetchSecrets({ service, generation }, signal);
  if (answer.kind === 'values') {
    const { environment, files } = answer.values;
    return { ...assignment, environment, files: await secretFiles.write(assignment, files) };
  }
  const { kind, message } = answer;
  if (kind === 'refused') throw new EngineError('permanent', message);
  progress(`waiting for its secrets: ${message}`);
  throw new EngineError('unreachable', `its secrets can't be fetched: ${message}`);
}
