/** Operation: one entry of the OpenAPI document, before it is rendered (document.ts). */
import type * as z from 'zod';

export interface Operation {
  method: 'get' | 'post' | 'delete';
  /** Beneath the API's own, as Hono writes it. */
  path: string;
  tag: string;
  summary: string;
  /** Who may call it: anybody, or who has the credentials of one of these schemes. */
  access: readonly Scheme[];
  /** Parameters of the query: an object's fields. */
  query?: z.ZodType;
  /** Headers that mean something here only: an object's fields. */
  headers?: z.ZodType;
  body?: z.ZodType;
  /** JSON of a shape; the output of a service; events; or nothing. */
  answer: z.ZodType | 'log' | 'events' | 'empty';
  /** Statuses besides 200, those of `access` and those that any operation may have. */
  errors: readonly number[];
}

export type Scheme = 'basic' | 'cookie' | 'bearer' | 'refresh';
