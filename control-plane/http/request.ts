/**
 * Reads requests: the credentials, ids in paths, queries, and JSON bodies in every encoding that clients
 * send.
 */
import type { Context as HonoContext, MiddlewareHandler } from 'hono';
import { generateCookie, getCookie } from 'hono/cookie';
import type * as z from 'zod';
import type { Actor, Authenticated, TokenKind } from '../core/accounts/account.ts';
import { OperationError } from '../core/model/errors.ts';
import { type Authentication, type Credentials, SESSION_MS } from '../operations/accounts/authentication.ts';
import { readInput } from '../operations/input.ts';
import type { AddressOf } from './address.ts';

export type Env = { Variables: { actor: Actor; proof: Authenticated } };

const MAX_BODY_BYTES = 1024 * 1024;
/**
 * A larger body is read up to here and discarded. An answer in the middle of a body is lost if the connection
 * then ends.
 */
const MAX_DISCARDED_BYTES = 8 * MAX_BODY_BYTES;
export const COOKIE = 'berth_session';

/** Authenticates before the routes run. Anonymous requests pass: operations refuse them. */
export function authenticated(
  authentication: Authentication,
  addressOf: AddressOf,
  kind?: TokenKind,
): MiddlewareHandler<Env> {
  return async (c, next) => {
    const proof = await authentication.authenticate(credentialsOf(c, addressOf), kind);
    if (proof.by === 'cookie') checkOrigin(c);
    c.set('actor', proof.actor);
    c.set('proof', proof);
    await next();
    if (proof.by === 'basic') {
      // Not with Hono's setCookie, which copies the response: that takes a tenth of the request's time.
      c.res.headers.append('set-cookie', sessionCookie(proof.sessionToken, isHttps(c)));
    }
  };
}

export const sessionCookie = (token: string, secure: boolean): string =>
  generateCookie(COOKIE, token, {
    httpOnly: true,
    sameSite: 'Lax',
    path: '/',
    maxAge: SESSION_MS / 1_000,
    secure,
  });

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

/**
 * The JSON of the body, whatever its content type. It may be URL-encoded, as the reference clients send it.
 */
export async function jsonBody(c: HonoContext): Promise<unknown> {
  const text = await bodyText(c);
  const plain = parse(text);
  if (plain !== undefined) return plain;
  try {
    const decoded = parse(decodeURIComponent(text.replaceAll('+', ' ')).replace(/=$/, ''));
    if (decoded !== undefined) return decoded;
  } catch {
    // Not URL-encoded either; reported below.
  }
  if (text.trim() === '') throw new OperationError('invalid', 'The body is empty: it must be JSON.');
  throw new OperationError('invalid', `The body is not JSON${firstError(text)}.`);
}

/** Where the first error is, if the engine reports it: `: see line 3 column 5`. */
function firstError(text: string): string {
  try {
    JSON.parse(text);
    return '';
  } catch (error) {
    const place =
      error instanceof SyntaxError && / in JSON at .*\((line \d+ column \d+)\)/.exec(error.message);
    return place ? `: see ${place[1]}` : '';
  }
}

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false });

/** Refuses a body that is not UTF-8. Lenient decoding would store another text than the client sent. */
export async function bodyText(c: HonoContext): Promise<string> {
  const bytes = await bodyBytes(c);
  try {
    return UTF8.decode(bytes);
  } catch {
    throw new OperationError('invalid', 'The body is not UTF-8. Send it as UTF-8, without compression.');
  }
}

async function bodyBytes(c: HonoContext): Promise<ArrayBuffer> {
  try {
    return await readBody(c);
  } catch (error) {
    // The peer broke the connection, and may not receive this answer. It is not an internal error.
    throw error instanceof OperationError
      ? error
      : new OperationError('invalid', 'The connection ended before the whole body had arrived.');
  }
}

/**
 * Hono's own limit inspects the body's stream, which on Node takes a third of the time of a request without
 * one.
 */
async function readBody(c: HonoContext): Promise<ArrayBuffer> {
  const declaredLength = c.req.header('content-length');
  if (declaredLength !== undefined && c.req.header('transfer-encoding') === undefined) {
    if (Number(declaredLength) > MAX_BODY_BYTES) throw tooLarge();
    return c.req.arrayBuffer();
  }
  const parts: Uint8Array[] = [];
  let bytes = 0;
  const reader = c.req.raw.body?.getReader();
  for (let part = await reader?.read(); part?.value; part = await reader?.read()) {
    bytes += part.value.byteLength;
    if (bytes <= MAX_BODY_BYTES) parts.push(part.value);
    else if (bytes > MAX_DISCARDED_BYTES) break;
  }
  if (bytes > MAX_BODY_BYTES) throw tooLarge();
  return new Blob(parts).arrayBuffer();
}

const tooLarge = () => new OperationError('too-large', `The body is larger than ${MAX_BODY_BYTES} bytes.`);

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The token of an Authorization header of the scheme Bearer. */
export function bearerOf(authorization: string | null | undefined): string | undefined {
  const [scheme = '', token] = (authorization ?? '').trim().split(/ +/, 2);
  return scheme.toLowerCase() === 'bearer' ? token : undefined;
}

function credentialsOf(c: HonoContext, addressOf: AddressOf): Credentials {
  const sessionToken = getCookie(c, COOKIE);
  const proofs = {
    sessionTokens: sessionToken === undefined ? [] : [sessionToken],
    addressOf: () => addressOf(c),
  };
  const header = c.req.header('authorization');
  if (header === undefined) return proofs;
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

/** Refuses a cross-site request that a browser sends with its cookie (CSRF). */
export function checkOrigin(c: HonoContext): void {
  if (c.req.method === 'GET' || c.req.method === 'HEAD') return;
  const site = c.req.header('sec-fetch-site');
  const origin = c.req.header('origin');
  const isCrossSite =
    site !== undefined
      ? site !== 'same-origin' && site !== 'none'
      : origin !== undefined && URL.parse(origin)?.host !== new URL(c.req.url).host;
  if (isCrossSite) throw new OperationError('forbidden', 'The request comes from another site.');
}

/** Whether the client uses HTTPS, to Berth or to a proxy in front of it. */
export const isHttps = (c: HonoContext) =>
  new URL(c.req.url).protocol === 'https:' || c.req.header('x-forwarded-proto') === 'https';
