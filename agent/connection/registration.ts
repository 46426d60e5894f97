/** Registration: asks the control plane to make this machine a host, by one request with the join token. */
import { type IncomingMessage, request } from 'node:http';
import { request as secureRequest } from 'node:https';
import {
  REGISTER_PATH,
  type RegistrationBody,
  refusalSchema,
  registeredSchema,
} from '../../shared/protocol/enrolment.ts';
import { answerJson, answerText } from './answer.ts';

/** The control plane refuses the registration permanently. */
export class RegistrationRefusedError extends Error {
  override name = 'RegistrationRefusedError';
}

const ANSWER_TIMEOUT_MS = 30_000;
/** A control plane's answer is a single line. */
const MAX_ANSWER_BYTES = 64 * 2 ** 10;
/** 4xx statuses that are temporary: timeout, too early, too many requests. */
const TEMPORARY_STATUSES = new Set([408, 425, 429]);

/**
 * Tries one control plane after the other, since only the active one registers hosts (P191). Resolves to the
 * host's id. Throws RegistrationRefusedError, or another error with all reasons if retrying may help.
 */
export async function registerAtAny(
  urls: readonly URL[],
  joinToken: string,
  body: RegistrationBody,
): Promise<number> {
  const failures: Error[] = [];
  for (const url of urls) {
    try {
      return await register(url, joinToken, body);
    } catch (error) {
      if (!(error instanceof Error) || error instanceof RegistrationRefusedError) throw error;
      failures.push(error);
    }
  }
  const [first, ...others] = failures;
  if (first && others.length === 0) throw first;
  throw new AggregateError(failures, failures.map(({ message }) => message).join(' '));
}

/** Resolves to the host's id. Throws RegistrationRefusedError, or another error if retrying may help. */
export async function register(url: URL, joinToken: string, body: RegistrationBody): Promise<number> {
  const target = endpoint(url, REGISTER_PATH);
  let response: IncomingMessage;
  let answer: string;
  try {
    response = await post(target, joinToken, JSON.stringify(body));
    answer = await answerText(response, MAX_ANSWER_BYTES);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(
      `The control plane cannot be reached at ${url.href}: ${reason}. Check BERTH_URL and the network.`,
      {
        cause,
      },
    );
  }
  const status = response.statusCode ?? 0;
  const registered = registeredSchema.safeParse(answerJson(answer));
  if (status === 200 && registered.success) return registered.data.host_id;
  const refusal = refusalSchema.safeParse(answerJson(answer));
  const details = refusal.success
    ? refusal.data.message
    : `${target.href} answered ${status}. Check that BERTH_URL is the address of a control plane.`;
  const message = `The control plane did not register this host: ${details}`;
  if (status >= 400 && status < 500 && !TEMPORARY_STATUSES.has(status))
    throw new RegistrationRefusedError(message);
  throw new Error(message);
}

/** The URL of a path of the control plane, whose own URL may have a path. */
export const endpoint = (url: URL, path: string): URL =>
  new URL(`${url.pathname.replace(/\/$/, '')}${path}`, url);

function post(url: URL, joinToken: string, body: string): Promise<IncomingMessage> {
  const send = url.protocol === 'https:' ? secureRequest : request;
  const headers = {
    authorization: `Bearer ${joinToken}`,
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
  };
  return new Promise((resolve, reject) => {
    const outgoing = send(
      url,
      { method: 'POST', agent: false, headers, timeout: ANSWER_TIMEOUT_MS },
      resolve,
    );
    outgoing.on('timeout', () =>
      outgoing.destroy(new Error(`no answer within ${ANSWER_TIMEOUT_MS / 1_000} s`)),
    );
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}
