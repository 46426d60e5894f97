/** Fetches the secrets of a start from the control plane that the agent is connected to (P220, P221). */
import { refusalSchema } from '../../shared/protocol/enrolment.ts';
import {
  MAX_SECRETS_ANSWER_BYTES,
  SECRETS_PATH,
  secretsAudience,
  startSecretsSchema,
} from '../../shared/protocol/secrets.ts';
import type { FetchSecrets, SecretsAnswer } from '../engine/folders/start-secrets.ts';
import { messageOf } from '../logger.ts';
import type { Addresses } from './addresses.ts';
import { answerJson, answerText } from './answer.ts';
import type { Identity } from './identity.ts';
import { endpoint } from './registration.ts';

const TIMEOUT_MS = 15_000;

/** What is missing or wrong can't get better by itself. Every other failure may. */
const REFUSED = 400;

export function secretsFrom(
  { addresses, identity }: { addresses: Addresses; identity: Identity },
  deployment: string,
): FetchSecrets {
  return async ({ service, generation }, signal) => {
    try {
      const url = endpoint(addresses.current, SECRETS_PATH);
      url.search = new URLSearchParams({ service: `${service}`, generation: `${generation}` }).toString();
      const response = await fetch(url, {
        headers: await identity.headers(secretsAudience(deployment)),
        redirect: 'error',
        signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
      });
      return answerOf(response, await answerText(response.body ?? [], MAX_SECRETS_ANSWER_BYTES), identity);
    } catch (error) {
      return { kind: 'unreachable', message: messageOf(error) };
    }
  };
}

function answerOf({ ok, status, headers }: Response, text: string, identity: Identity): SecretsAnswer {
  const body = answerJson(text);
  // The text of an error of the schema may have values.
  const values = ok ? startSecretsSchema.safeParse(body).data : undefined;
  if (values) return { kind: 'values', values };
  const { message, reason } = refusalSchema.safeParse(body).data ?? {
    message: `the control plane answered ${status}`,
  };
  const timeMs = Date.parse(headers.get('date') ?? '');
  identity.refused?.({ status, reason, timeMs: Number.isNaN(timeMs) ? undefined : timeMs });
  return { kind: status === REFUSED ? 'refused' : 'unreachable', message };
}
