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

/**
 * Throws OperationError `unavailable` or `conflict` if the application is not up. `isKnown`: the grant of the
 * request was read for an earlier one, and holds as long as that one's permit lives. Undefined, with the
 * request untouched, if that does not, or if it is not known whether it does.
 */
export type AcceptApp = (
  c: HonoContext,
  request: AppRequest,
  isKnown: boolean,
) => Promise<Relayed | undefined>;
