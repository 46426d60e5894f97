/** Route: method, path, access, input, answer and handler of one operation of the API, in one entry. */
import type { Context as HonoContext } from 'hono';
import type * as z from 'zod';
import type { DownloadTarget } from '../../../shared/streams/targets.ts';
import type { PersonalTokenRules } from '../../core/accounts/personal-token.ts';
import type { SecretRules } from '../../core/accounts/secret.ts';
import type { StreamRequest } from '../../core/streams/stream-request.ts';
import type { AddressOf } from '../../guard/address.ts';
import type { BodyReader } from '../../guard/body-reader.ts';
import type { Authentication } from '../../operations/accounts/authentication.ts';
import type { KnownDescriptions } from '../../operations/executions/known-descriptions.ts';
import type { ShopContext } from '../../operations/shop/shop.ts';
import type { InstallSources } from '../install.ts';
import type { Env } from '../request.ts';
import type { Answers, Statuses, Words } from '../words.ts';

/** Answers the upgrade of a request that may open the stream. */
export type AcceptStream = (c: HonoContext, request: StreamRequest) => Response | Promise<Response>;

/** Opens what is at the path. Throws OperationError if nothing is. */
export type OpenDownload = (one: {
  request: StreamRequest;
  target: DownloadTarget;
}) => Promise<ReadableStream<Uint8Array>>;

/** What the handlers use. */
export interface ApiDeps extends ShopContext, InstallSources {
  variant: Words & Statuses & Answers;
  bodies: BodyReader;
  authentication: Authentication;
  /** Descriptions of this variant that were checked before. */
  known: KnownDescriptions;
  personalTokenRules: PersonalTokenRules;
  secretRules: SecretRules;
  addressOf: AddressOf;
  acceptStream: AcceptStream;
  download: OpenDownload;
}

export interface Route {
  method: 'get' | 'post' | 'delete';
  /** Relative to the API's base path, in Hono's syntax. */
  path: string;
  tag: string;
  /** Unique and lasting: programs that are made from the document name their calls after it. */
  id: string;
  summary: string;
  description: string;
  access: Access;
  /** Whether a personal access token gives no access. */
  refusesTokens?: boolean;
  /** Parameters of the query: the fields of an object. */
  query?: z.ZodType;
  /** Headers with a meaning for this operation only: the fields of an object. */
  headers?: z.ZodType;
  body?: z.ZodType;
  /** Set for an operation that only Berth's own path has, whatever the variant (H430). */
  isNative?: boolean;
  /** Set for an operation that makes something, once for each Idempotency-Key (H440). */
  isMadeOnce?: boolean;
  /**
   * JSON of a schema, the output of a service, that of several in frames, events, an empty body, a WebSocket,
   * or either a WebSocket or a file.
   */
  answer: z.ZodType | 'log' | 'frames' | 'events' | 'empty' | 'websocket' | 'websocket or file';
  /** Statuses besides 200, those of `access` and of a body, and those that every operation may have. */
  errors: readonly number[];
  /** Parses, calls the operation and renders. The operation authorises before input is read. */
  handle(c: HonoContext<Env>, deps: ApiDeps): Response | Promise<Response>;
}

/**
 * How a request shows who sends it. `user`: by any credential. `work`: a session need admit to executions
 * only. `change`: the coordinator itself authorises. `login`: opens the session of Basic credentials.
 * `refresh`: by Basic credentials or a refresh token.
 */
export type Access = 'public' | 'user' | 'work' | 'change' | 'login' | 'refresh';
