/**
 * Fetches the secrets of a start, and the credentials for its pull, from the control plane that the agent is
 * connected to (P220, P221, P232).
 */
import type { ServiceKey } from '../../shared/protocol/assignment.ts';
import { refusalSchema } from '../../shared/protocol/enrolment.ts';
import {
  CREDENTIALS_PATH,
  credentialsAnswerSchema,
  credentialsAudience,
  MAX_CREDENTIALS_ANSWER_BYTES,
  MAX_SECRETS_ANSWER_BYTES,
  SECRETS_PATH,
  secretsAudience,
  startSecretsSchema,
} from '../../shared/protocol/secrets.ts';
import type { FetchSecrets, StartAnswer } from '../engine/folders/start-secrets.ts';
import type { FetchCredentials } from '../engine/pulls/pull-credentials.ts';
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

interface Schema<Values> {
  safeParse(body: unknown): { data?: Values | undefined };
}

/** What is requested for a start, and how its answer is read. */
interface Request<Values> {
  path: string;
  audience: string;
  maxBytes: number;
  schema: Schema<Values>;
}

export interface Source {
  addresses: Addresses;
  identity: Identity;
}

/** A clock that is never set, in ms. */
type Clock = () => number;

export const secretsFrom = (source: Source, deployment: string, nowMs?: Clock): FetchSecrets =>
  fetchFrom(
    source,
    {
      path: SECRETS_PATH,
      audience: secretsAudience(deployment),
      maxBytes: MAX_SECRETS_ANSWER_BYTES,
      schema: startSecretsSchema,
    },
    nowMs,
  );

export const credentialsFrom = (source: Source, deployment: string, nowMs?: Clock): FetchCredentials =>
  fetchFrom(
    source,
    {
      path: CREDENTIALS_PATH,
      audience: credentialsAudience(deployment),
      maxBytes: MAX_CREDENTIALS_ANSWER_BYTES,
      schema: credentialsAnswerSchema,
    },
    nowMs,
  );

/** While the host must wait, no request is sent. */
function fetchFrom<Values>(
  { addresses, identity }: Source,
  { path, audience, maxBytes, schema }: Request<Values>,
  nowMs: Clock = () => performance.now(),
): (key: ServiceKey, signal: AbortSignal) => Promise<StartAnswer<Values>> {
  let pause: Pause = { untilMs: 0, message: '' };
  return async ({ service, generation }, signal) => {
    if (nowMs() < pause.untilMs) return { kind: 'unreachable', message: pause.message };
    try {
      const url = endpoint(addresses.current, path);
      url.search = new URLSearchParams({ service: `${service}`, generation: `${generation}` }).toString();
      const response = await fetch(url, {
        headers: await identity.headers(audience),
        redirect: 'error',
        signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
      });
      const text = await answerText(response.body ?? [], maxBytes);
      const answer = answerOf(response, text, schema, identity);
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

function answerOf<Values>(
  { ok, status, headers }: Response,
  text: string,
  schema: Schema<Values>,
  identity: Identity,
): StartAnswer<Values> {
  const body = answerJson(text);
  // The text of an error of the schema may have values.
  const values = ok ? schema.safeParse(body).data : undefined;
  if (values !== undefined) return { kind: 'values', values };
  const refusal = refusalSchema.safeParse(body).data;
  const { message, reason } = refusal ?? { message: `the control plane answered ${status}` };
  const timeMs = Date.parse(headers.get('date') ?? '');
  identity.refused?.({ status, reason, timeMs: Number.isNaN(timeMs) ? undefined : timeMs });
  // Anything between may answer 400; only a control plane gives a reason.
  return { kind: status === REFUSED && refusal ? 'refused' : 'unreachable', message };
}
