/** The header Idempotency-Key of requests, and the header of answers that repeat an earlier one (H440). */
import { createHash } from 'node:crypto';
import type { Context as HonoContext } from 'hono';
import { OperationError } from '../core/model/errors.ts';
import type { Made, RequestKey } from '../core/model/idempotency.ts';
import type { ReadKey } from '../operations/context.ts';
import { json } from './json/render.ts';

export const KEY_HEADER = 'Idempotency-Key';
export const REPEAT_HEADER = 'Idempotent-Replayed';

const KEY = /^[!-~]{1,255}$/;

/** Digests of the requests that have a key, made when their bodies are read. */
const digests = new WeakMap<Request, string>();

/** Prepares `keyOf`. Requests without a key cost nothing more than this look at their headers. */
export function noteBody(c: HonoContext, body: Uint8Array): void {
  if (c.req.header(KEY_HEADER) === undefined) return;
  const { method, path, raw } = c.req;
  digests.set(raw, createHash('sha256').update(`${method} ${path}\n`).update(body).digest('base64url'));
}

/** Reads the key of a request whose body has been read. */
export const keyOf =
  (c: HonoContext): ReadKey =>
  (): RequestKey | undefined => {
    const key = c.req.header(KEY_HEADER);
    if (key === undefined) return undefined;
    if (!KEY.test(key))
      throw new OperationError(
        'invalid',
        `The header ${KEY_HEADER} must have 1 to 255 characters, all of them visible ASCII.`,
      );
    const digest = digests.get(c.req.raw);
    if (digest === undefined) throw new Error('the body of a request with a key was not read');
    return { key, digest };
  };

/** The answer to a request that has made something, now or before. */
export function madeJson(field: string, { id, isRepeat }: Made, status: number): Response {
  const response = json({ [field]: id }, status);
  if (isRepeat) response.headers.set(REPEAT_HEADER, 'true');
  return response;
}
