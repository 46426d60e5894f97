/** Login of the command line: a page that asks the user, and the exchange of the code that it gives. */
import { Hono } from 'hono';
import * as z from 'zod';
import { OperationError } from '../../core/model/errors.ts';
import { errorResponse } from '../../http/json/render.ts';
import { isHttps } from '../../http/own-origin.ts';
import { checked, originOf, sessionCookie } from '../../http/request.ts';
import { native } from '../../http/variants/native.ts';
import { CommandLineLogins } from '../../operations/sign-on/command-line.ts';
import { formOf } from '../components/form.ts';
import { html } from '../components/html.ts';
import { page } from '../components/page.ts';
import type { WebContext, WebDeps, WebEnv } from '../context.ts';

const PATH = '/account/command-line';
const MAX_PORT = 65_535;

/** SHA-256 in base64url. */
const challenge = z.string().regex(/^[\w-]{43}$/, 'must be 43 characters of base64url');
const request = z.object({ port: z.coerce.number().int().min(1).max(MAX_PORT), challenge });
const exchange = z.strictObject({
  code: z.string().max(4_096),
  verifier: z.string().min(43).max(128),
});
const password = z.strictObject({ username: z.string(), password: z.string() });

/** The pages behind a login. */
export function commandLinePages(deps: WebDeps): Hono<WebEnv> {
  const routes = new Hono<WebEnv>();
  const logins = new CommandLineLogins(deps);
  routes.get('/', (c) => askPage(c, checked(request, c.req.query(), 'link')));
  routes.post('/', async (c) => {
    const { port, challenge } = checked(request, Object.fromEntries(await formOf(c)), 'form');
    return leadBack(c, port, await logins.grant(c.get('actor'), challenge));
  });
  return routes;
}

/**
 * Opens a session of its own for a password, or for a code of the page. Needs no login: either of them proves
 * who it is.
 */
export function logInCommandLine(deps: WebDeps): (c: WebContext) => Promise<Response> {
  const { authentication, addressOf } = deps;
  const logins = new CommandLineLogins(deps);
  const open = async (c: WebContext): Promise<string> => {
    const given = checked(z.union([exchange, password]), await deps.bodies.json(c), 'body');
    const origin = originOf(c, addressOf);
    return 'code' in given ? logins.redeem(given, origin) : authentication.logInProgram(given, origin);
  };
  return async (c) => {
    let session: string;
    try {
      session = await open(c);
    } catch (error) {
      if (!(error instanceof OperationError)) throw error;
      // For a program, and not as a page.
      return errorResponse(error, native);
    }
    return new Response(null, {
      status: 204,
      headers: { 'set-cookie': sessionCookie(session, isHttps(c)), 'cache-control': 'no-store' },
    });
  };
}

const askPage = (c: WebContext, { port, challenge }: z.infer<typeof request>): Promise<Response> =>
  page(c, {
    title: 'Log in the command line',
    body: html`
<form class="card narrow" method="post" action="${PATH}">
<h1>Log in the command line</h1>
<p>A program on this machine wants to act as <b>${c.get('account').user.username}</b>, as <code>berth login --browser</code> does.</p>
<p>Allow it only if you have just started it yourself.</p>
<input type="hidden" name="port" value="${String(port)}">
<input type="hidden" name="challenge" value="${challenge}">
<button class="primary wide">Allow</button>
</form>`,
  });

/** No redirect: the policy of pages lets no form lead to another site, and the program is one. */
function leadBack(c: WebContext, port: number, code: string): Promise<Response> {
  const url = `http://127.0.0.1:${port}/?code=${encodeURIComponent(code)}`;
  return page(c, {
    title: 'Log in the command line',
    headers: { refresh: `0; url=${url}` },
    body: html`
<div class="empty">
<h1>Go on in the terminal</h1>
<p>If the terminal still waits: <a href="${url}">finish the login</a>.</p>
</div>`,
  });
}
