/** How the HTTP layer passes an authorised request on to the web application. Each host has its own. */
import type { Context as HonoContext } from 'hono';
import type { AppRequest } from '../../core/streams/app-request.ts';

/**
 * Answers with what the application answers. Throws OperationError `unavailable` or `conflict` if the
 * application is not up.
 */
export type AcceptApp = (c: HonoContext, request: AppRequest) => Response | Promise<Response>;
