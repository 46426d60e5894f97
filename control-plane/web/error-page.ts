/** The page for errors: the message of the error and a link onwards. */
import type { Context as HonoContext } from 'hono';
import { OperationError } from '../core/model/errors.ts';
import { statusOf as httpStatusOf, retryAfterS, toOperationError } from '../http/json/render.ts';
import { html } from './components/html.ts';
import { page } from './components/page.ts';
import type { WebContext, WebDeps } from './context.ts';

const TITLES: Readonly<Record<number, string>> = {
  400: 'Invalid request',
  401: 'Log in again',
  403: 'Not allowed',
  404: 'Not found',
  409: 'Not possible at the moment',
  429: 'Too many requests',
  503: 'Temporarily unavailable',
};

export const statusOf = (error: OperationError | undefined): number =>
  httpStatusOf(error, { forbidden: 403 });

export function errorPage(c: WebContext, error: unknown, failed: WebDeps['failed']): Promise<Response> {
  const known = toOperationError(error);
  if (!known || known.cause) failed(c.req.path, known?.cause ?? error);
  const status = statusOf(known);
  const retryS = retryAfterS(known, status);
  const message = known?.message ?? 'Berth failed to handle this request; its log has the reason.';
  return page(c, {
    title: TITLES[status] ?? 'Something went wrong',
    status,
    headers: retryS === undefined ? {} : { 'retry-after': String(retryS) },
    body: html`
      <div class="empty">
        <h1>${TITLES[status] ?? 'Something went wrong'}</h1>
        <p>${message}</p>
        <p><a class="button" href="/executions">Back to executions</a></p>
      </div>`,
  });
}

/** True if a browser will show the response, false for a program that uses the API. */
export const isBrowser = (c: HonoContext): boolean =>
  !/^\/(api|agent)\//.test(c.req.path) && (c.req.header('accept') ?? '').includes('text/html');

/** True if a browser requests a page. */
export const wantsPage = (c: HonoContext): boolean => ['GET', 'HEAD'].includes(c.req.method) && isBrowser(c);

/** For requests that reach no page. */
export function errorPageWith(c: HonoContext, deps: WebDeps, error: unknown): Promise<Response> {
  c.set('deploymentName', deps.deploymentName);
  c.set('nowMs', deps.nowMs());
  return errorPage(c, error, deps.failed);
}

export const notFoundPage = (c: HonoContext, deps: WebDeps): Promise<Response> =>
  errorPageWith(c, deps, new OperationError('not-found', `There is no ${c.req.path} here.`));
