/**
 * The closed set of errors that an operation can end with. Only http/json/render.ts maps them to HTTP
 * statuses.
 */

export const operationErrors = [
  'invalid', // malformed input
  'unauthenticated',
  'bad-token', // a kind of unauthenticated: the Bearer token is invalid or has expired
  'forbidden',
  'revoked', // a kind of forbidden: the host was removed
  'unknown-host', // a kind of unauthenticated: no such host, or the host has another key
  'not-found',
  'wrong-method', // the path exists, but not for this method
  'no-websocket', // the path is for WebSockets only
  'conflict', // the object's state does not allow it
  'other-request', // the idempotency key was used for another request
  'too-large',
  'too-many', // failed logins, or open streams
  'unavailable', // the database or the coordinator is out of reach; a later attempt may succeed
] as const;
export type ErrorCode = (typeof operationErrors)[number];

/** What an answer reports; `internal` is a failure that was not foreseen. */
export const errorCodes = [...operationErrors, 'internal'] as const;

/**
 * An error for the caller. `message` states what is wrong and what to do, `details` lists every problem if
 * there are several, and `retryAfterS` states when to try again.
 */
export class OperationError extends Error {
  override name = 'OperationError';
  readonly code: ErrorCode;
  readonly details: readonly unknown[] | undefined;
  readonly retryAfterS: number | undefined;
  /** What was not found exists, but is another user's. Only some variants of the API reveal that (H173). */
  readonly isOthers: boolean;

  constructor(
    code: ErrorCode,
    message: string,
    options: {
      cause?: unknown;
      details?: readonly unknown[];
      retryAfterS?: number;
      isOthers?: boolean;
    } = {},
  ) {
    super(message, { cause: options.cause });
    this.code = code;
    this.details = options.details;
    this.retryAfterS = options.retryAfterS;
    this.isOthers = options.isOthers ?? false;
  }
}

const STANDBY_RETRY_S = 5;

/** A standby cannot do this while another control plane is active. */
export class StandbyError extends OperationError {
  override name = 'StandbyError';

  /** Completes "this control plane is a standby, and". */
  readonly why: string;

  constructor(message: string, why: string) {
    super('unavailable', message, { retryAfterS: STANDBY_RETRY_S });
    this.why = why;
  }
}

export const hasCode = (error: unknown, code: ErrorCode): error is OperationError =>
  error instanceof OperationError && error.code === code;
