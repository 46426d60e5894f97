/** Owns the closed set of errors an operation can end with. http/render maps them to statuses; nothing else does. */

export type ErrorCode =
  | 'invalid' // malformed input
  | 'unauthenticated'
  | 'bad-token' // unauthenticated, too: the Bearer token is not valid, or not any more
  | 'forbidden'
  | 'revoked' // forbidden, too: the host was removed
  | 'unknown-host' // unauthenticated, too: no such host, or with another key
  | 'not-found'
  | 'wrong-method' // the path is there, but not for this method
  | 'conflict' // the object's state does not allow it
  | 'too-large'
  | 'too-many' // failed logins, or streams that are open
  | 'unavailable'; // database or coordinator out of reach; trying again later may help

/** An error for the caller: `message` says what is wrong and what to do; `details` lists every problem where there are several, `retryAfterS` tells when to try again. */
export class OperationError extends Error {
  override name = 'OperationError';
  readonly code: ErrorCode;
  readonly details: readonly unknown[] | undefined;
  readonly retryAfterS: number | undefined;

  constructor(
    code: ErrorCode,
    message: string,
    options: { cause?: unknown; details?: readonly unknown[]; retryAfterS?: number } = {},
  ) {
    super(message, { cause: options.cause });
    this.code = code;
    this.details = options.details;
    this.retryAfterS = options.retryAfterS;
  }
}
