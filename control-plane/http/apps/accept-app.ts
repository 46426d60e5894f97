/** How the HTTP layer passes an authorised request on to the web application. Each host has its own. */
import type { Context as HonoContext } from 'hono';
import type { Header } from '../../core/apps/app-headers.ts';
import type { AppRequest } from '../../core/streams/app-request.ts';

/** The answer of an application. */
export interface Relayed {
  /** As the application has sent them. */
  headers: Header[];
  /** The response for the browser, with these headers only. Called once. */
  respond(headers: readonly Header[]): Response;
}

/** Throws OperationError `unavailable` or `conflict` if the application is not up. */
export type AcceptApp = (c: HonoContext, request: AppRequest) => Relayed | Promise<Relayed>;
