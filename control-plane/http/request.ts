/** Reads requests: the credentials, ids in paths, and queries. Bodies are read in guard/body-reader.ts. */
import type { Context as HonoContext, MiddlewareHandler } from 'hono';
import type * as z from 'zod';
import {
  type Actor,
  type Authenticated,
  asExpected,
  authorise,
  type ExpectedActor,
  type Origin,
  type TokenKind,
} from '../core/accounts/account.ts';
import { OperationError } from '../core/model/errors.ts';
import { type AddressOf, plainAddress } from '../guard/address.ts';
import type { Authentication, Credentials } from '../operations/accounts/authentication.ts';
import { SESSION_MS } from '../operations/accounts/sessions.ts';
import type { ConfirmPassword } from '../operations/accounts/users.ts';
import { readInput } from '../operations/input.ts';
import { type AnswerAnew, answerAhead } from './answer-ahead.ts';
import { cookieName, ownCookie, readOwnCookie, readProofCookie } from './cookies.ts';
import { maySetSession } from './cross-site.ts';
import { isHttps } from './own-origin.ts';

export type Env = {
  Variables: {
    actor: Actor;
    proof: Authenticated;
    /** Set for changes of executions, in place of the actor. */
    caller: Actor | ExpectedActor;
    requestId: string | undefined;
  };
};

const REQUEST_ID_HEADER = 'X-Request-Id';

/** The name of the session cookie; over https with `__Host-` before it. */
export const COOKIE = 'berth_session';
export const sessionCookieName = (secure: boolean): string => cookieName(COOKIE, secure);

interface AuthenticatedFor {
  kind?: TokenKind;
  needsSession?: boolean;
  workOnly?: boolean;
}

/**
 * Authenticates for the routes after it. Anonymous requests pass: operations refuse them. With
 * `needsSession`, the session of Basic credentials is open. With `workOnly`, a session need admit to
 * executions only.
 */
export function authenticated(
  { authentication, addressOf, anew, cookieMs }: Authenticating,
  { kind, needsSession = false, workOnly = false }: AuthenticatedFor = {},
): MiddlewareHandler<Env> {
  return async (c, next) => {
    if (c.get('caller')) return next();
    const credentials = { ...credentialsOf(c, addressOf), needsSession, workOnly };
    const claim = await authentication.claim(credentials, kind);
    const answer = async (proof: Authenticated) => {
      const actor = withOrigin(c, proof.actor, addressOf);
      c.set('actor', actor);
      c.set('proof', { ...proof, actor } as Authenticated);
      await next();
      setSession(c, proof, cookieMs, needsSession);
      noteUse(c, authentication, proof.actor);
    };
    await answerAhead(c, claim, answer, anew);
  };
}

/**
 * The same for changes that the coordinator authorises itself: of a session or token that was seen before, it
 * alone finds out whether that is still right (ACC-10).
 */
export function claimed(
  { authentication, addressOf, cookieMs }: Authenticating,
  { workOnly = false }: Pick<AuthenticatedFor, 'workOnly'> = {},
): MiddlewareHandler<Env> {
  return async (c, next) => {
    const claim = await authentication.claim({ ...credentialsOf(c, addressOf), workOnly });
    const expected = expectedActor(claim.expected);
    const proof = expected ? undefined : await claim.prove();
    // The body may arrive after a revocation, which the coordinator then sees (H488).
    const checkedAgain = proof?.by === 'personal-token' ? expectedActor(proof) : undefined;
    const caller = expected ?? checkedAgain ?? proof?.actor ?? { kind: 'anonymous' };
    c.set('caller', withOrigin(c, caller, addressOf));
    await next();
    if (proof) setSession(c, proof, cookieMs);
    noteUse(c, authentication, c.get('caller'));
  };
}

/** The id of the request, made by Berth: one that a client sends proves nothing. Its answer has it (H463). */
export function requestIdOf(c: HonoContext): string {
  const known: string | undefined = c.get('requestId');
  if (known !== undefined) return known;
  const requestId = crypto.randomUUID();
  c.set('requestId', requestId);
  return requestId;
}

/** Every answer to a request that may change something has the id of the request. */
export const identified: MiddlewareHandler<Env> = async (c, next) => {
  const id = requestIdOf(c);
  await next();
  c.res.headers.set(REQUEST_ID_HEADER, id);
};

export const originOf = (c: HonoContext, addressOf: AddressOf): Origin => ({
  requestId: requestIdOf(c),
  address: plainAddress(addressOf(c)),
});

/** The actor of a request that may change something, with its origin. Reads are not recorded. */
export function withOrigin<A extends Actor | ExpectedActor>(
  c: HonoContext,
  actor: A,
  addressOf: AddressOf,
): A {
  const isRead = c.req.method === 'GET' || c.req.method === 'HEAD';
  return isRead || actor.kind === 'anonymous' ? actor : { ...actor, origin: originOf(c, addressOf) };
}

/** Undefined if the change would be refused, since the rights may have changed. */
function expectedActor(expected: Authenticated | undefined): ExpectedActor | undefined {
  const actor = expected?.actor;
  if (actor?.kind !== 'user') return undefined;
  try {
    authorise(actor, { kind: 'submit-execution' });
    return asExpected(actor);
  } catch {
    return undefined;
  }
}

/** `repeats`: a session that the client has already is sent again. */
function setSession(
  c: HonoContext,
  proof: Authenticated,
  cookieMs: number | undefined,
  repeats = false,
): void {
  const requestId: string | undefined = c.get('requestId');
  if (requestId !== undefined) c.res.headers.set(REQUEST_ID_HEADER, requestId);
  const known = repeats && proof.by === 'cookie' ? readOwnCookie(c, COOKIE) : undefined;
  const token = proof.by === 'basic' ? proof.sessionToken : known;
  if (token === undefined || !maySetSession(c)) return;
  // Not with Hono's setCookie, which copies the response: that takes a tenth of the request's time.
  c.res.headers.append('set-cookie', sessionCookie(token, isHttps(c), cookieMs));
}

/** Starts the note of a personal access token's use. The answer does not wait for it. */
function noteUse(c: HonoContext, { personalTokens }: Authentication, actor: Actor | ExpectedActor): void {
  if (actor.kind === 'anonymous' || actor.credential.by !== 'personal-token') return;
  afterAnswer(c, personalTokens.noteUse(actor.credential.hash));
}

/** On workerd, work that outlives its request must be announced. Node has no execution context. */
function afterAnswer(c: HonoContext, work: Promise<void>): void {
  let context: { waitUntil(work: Promise<unknown>): void };
  try {
    context = c.executionCtx;
  } catch {
    return;
  }
  context.waitUntil(work);
}

export interface Authenticating {
  authentication: Authentication;
  addressOf: AddressOf;
  anew: AnswerAnew;
  /** How long clients keep the cookie. Default: SESSION_MS. */
  cookieMs?: number | undefined;
}

export const sessionCookie = (token: string, secure: boolean, lifeMs = SESSION_MS): string =>
  ownCookie(COOKIE, token, secure, { maxAgeS: lifeMs / 1_000 });

/** Verifies a password for the client of a request. */
export const confirmIn =
  (
    c: HonoContext,
    { authentication, addressOf }: Pick<Authenticating, 'authentication' | 'addressOf'>,
  ): ConfirmPassword =>
  (username, password) =>
    authentication.confirm(username, password, () => addressOf(c));

/** A positive integer from the path. Any other text is 404, because no object can have it as id. */
export function pathId(c: HonoContext, name: string): number {
  const text = c.req.param(name) ?? '';
  if (!/^\d{1,15}$/.test(text))
    throw new OperationError(
      'not-found',
      `${text.slice(0, 20)} is not an id: ids are positive integers of at most 15 digits.`,
    );
  return Number(text);
}

/** The parameters of the query. Each may appear only once. */
export function queryOf(c: HonoContext): Record<string, string> {
  return Object.fromEntries(
    Object.entries(c.req.queries()).map(([name, [value = '', ...more]]) => {
      if (more.length > 0)
        throw new OperationError('invalid', `The parameter ${name} is given more than once.`);
      return [name, value];
    }),
  );
}

/** Parses `value`, or throws `invalid` with every problem; `what` names the value in the message. */
export function checked<T>(schema: z.ZodType<T>, value: unknown, what: string): T {
  const { data, problems } = readInput(schema, value, what);
  if (problems === undefined) return data;
  throw new OperationError('invalid', `The ${what} is not valid. ${problems}`);
}

/** The token of an Authorization header of the scheme Bearer. */
export function bearerOf(authorization: string | null | undefined): string | undefined {
  const [scheme = '', token] = (authorization ?? '').trim().split(/ +/, 2);
  return scheme.toLowerCase() === 'bearer' ? token : undefined;
}

function credentialsOf(c: HonoContext, addressOf: AddressOf): Credentials {
  const header = c.req.header('authorization');
  const proofs = {
    addressOf: () => plainAddress(addressOf(c)),
    requestIdOf: () => requestIdOf(c),
  };
  if (header === undefined) return { ...proofs, sessionToken: readProofCookie(c, COOKIE) };
  const [scheme = '', encoded = ''] = header.trim().split(/ +/, 2);
  if (scheme.toLowerCase() === 'bearer') return { ...proofs, bearer: encoded };
  if (scheme.toLowerCase() !== 'basic') {
    throw new OperationError(
      'unauthenticated',
      `The scheme of Authorization must be Basic or Bearer, not ${scheme.slice(0, 20)}.`,
    );
  }
  const decoded = decodeBase64(encoded);
  const colon = decoded.indexOf(':');
  if (colon < 0)
    throw new OperationError('unauthenticated', 'Basic credentials must be "user name:password" in base64.');
  return { ...proofs, basic: { username: decoded.slice(0, colon), password: decoded.slice(colon + 1) } };
}

const UTF8_WITH_BOM = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Decodes base64 to text: UTF-8, or Latin-1 if it is not valid UTF-8. Returns an empty text for invalid
 * base64.
 */
function decodeBase64(encoded: string): string {
  try {
    const bytes = Uint8Array.from(atob(encoded), (char) => char.charCodeAt(0));
    try {
      return UTF8_WITH_BOM.decode(bytes);
    } catch {
      return atob(encoded);
    }
  } catch {
    return '';
  }
}
