/** A call of the API: what is sent, and the error with which it can end. */
import type { ErrorAnswer } from './api-types.ts';

export type Credentials = { token: string } | { session: string } | { username: string; password: string };

export type Method = 'GET' | 'POST' | 'DELETE';

export interface Call {
  method: Method;
  url: URL;
  credentials?: Credentials | undefined;
  /** Sent as JSON. */
  body?: unknown;
  signal?: AbortSignal | undefined;
  /** A repeat with the same key makes nothing (SPEC H440). */
  idempotencyKey?: string | undefined;
}

export interface Problem {
  /** JSON pointer into the description (RFC 6901). */
  pointer: string;
  message: string;
}

/** What Berth has refused, or why it could not be reached. */
export class BerthError extends Error {
  /** HTTP status; 0 if there was no answer. */
  readonly status: number;
  /** The kind of what Berth refused: a word that does not change (SPEC H818). */
  readonly code: ErrorAnswer['code'] | undefined;
  readonly problems: readonly Problem[];
  /** Path of the call that was refused. */
  readonly path: string | undefined;
  /** Address of the control plane, if it can't be reached. */
  readonly unreachable: string | undefined;

  constructor(
    status: number,
    message: string,
    { code, problems = [], cause, path, unreachable }: Partial<BerthError> = {},
  ) {
    super(message, { cause });
    this.name = 'BerthError';
    this.status = status;
    this.code = code;
    this.problems = problems;
    this.path = path;
    this.unreachable = unreachable;
  }
}

const TOO_MANY = 429;
const SERVER_ERROR = 500;

/**
 * Whether the same call may succeed later: there was no answer, or not all of it, the server failed, or it
 * has too much to do.
 */
export function isPassing(error: unknown): boolean {
  if (!(error instanceof BerthError)) return typeof (error as { code?: unknown }).code === 'string';
  return error.status === 0 || error.status === TOO_MANY || error.status >= SERVER_ERROR;
}
