/** Operation: one entry of the OpenAPI document, before it is rendered (document.ts). */
import type * as z from 'zod';

export interface Operation {
  method: 'get' | 'post' | 'delete';
  /** Relative to the API's base path, in Hono's syntax. */
  path: string;
  tag: string;
  /** Unique and lasting: programs that are made from the document name their calls after it. */
  id: string;
  summary: string;
  description: string;
  /** The schemes of which any one gives access; empty for public operations. */
  access: readonly Scheme[];
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
}

export type Scheme = 'basic' | 'cookie' | 'httpsCookie' | 'personalToken' | 'bearer' | 'refresh';
