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
const TOO_MANY = 429;

/** The host's allowance is used (P240). A wait is never longer, whatever the answer says. */
const [DEFAULT_PAUSE_S, MAX_PAUSE_S] = [5, 120];

interface Pause {
  untilMs: number;
  message: string;
}

/** While the host must wait, no request is sent. `nowMs`: a clock that is never set. */
export function secretsFrom(
  { addresses, identity }: { addresses: Addresses; identity: Identity },
  deployment: string,
  nowMs: () => number = () => performance.now(),
): FetchSecrets {
  let pause: Pause = { untilMs: 0, message: '' };
  return async ({ service, generation }, signal) => {
    if (nowMs() < pause.untilMs) return { kind: 'unreachable', message: pause.message };
    try {
      const url = endpoint(addresses.current, SECRETS_PATH);
      url.search = new URLSearchParams({ service: `${service}`, generation: `${generation}` }).toString();
      const response = await fetch(url, {
        headers: await identity.headers(secretsAudience(deployment)),
        redirect: 'error',
        signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
      });
      const text = await answerText(response.body ?? [], MAX_SECRETS_ANSWER_BYTES);
      const answer = answerOf(response, text, identity);
      if (response.status === TOO_MANY && answer.kind === 'unreachable')
        pause = { untilMs: nowMs() + pauseMs(response.headers), message: answer.message };
      return answer;
    } catch (error) {
      return { kind: 'unreachable', message: messageOf(error) };
    }
  };
}

function pauseMs(headers: Headers): number {
  const seconds = Number(headers.get('retry-after') ?? DEFAULT_PAUSE_S);
  return 1_000 * (seconds > 0 ? Math.min(seconds, MAX_PAUSE_S) : DEFAULT_PAUSE_S);
}

function answerOf({ ok, status, headers }: Response, text: string, identity: Identity): SecretsAnswer {
  const body = answerJson(text);
  // The text of an error of the schema may have values.
  const values = ok ? startSecretsSchema.safeParse(body).data : undefined;
  if (values) return { kind: 'values', values };
  const refusal = refusalSchema.safeParse(body).data;
  const { message, reason } = refusal ?? { message: `the control plane answered ${status}` };
  const timeMs = Date.parse(headers.get('date') ?? '');
  identity.refused?.({ status, reason, timeMs: Number.isNaN(timeMs) ? undefined : timeMs });
  // Anything between may answer 400; only a control plane gives a reason.
  return { kind: status === REFUSED && refusal ? 'refused' : 'unreachable', message };
}
