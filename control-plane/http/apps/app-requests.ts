/** Requests at the host name of a web application: who may send them, and what passes. */
import { randomBytes } from 'node:crypto';
import type { Context as HonoContext } from 'hono';
import { entryOf } from '../../core/accounts/audit.ts';
import { APP_COOKIE, cookieIn, VISIT_COOKIE } from '../../core/apps/app-cookies.ts';
import { headersForApp, headersForBrowser } from '../../core/apps/app-headers.ts';
import { type AppName, appHostOf, appOriginOf } from '../../core/apps/app-site.ts';
import { type FetchFacts, isForeign, isPageVisit } from '../../core/apps/fetch-origin.ts';
import type { AppCounts, AppResult } from '../../core/metrics/app-counts.ts';
import { OperationError } from '../../core/model/errors.ts';
import type { AppRequest } from '../../core/streams/app-request.ts';
import { logSubscriber } from '../../operations/access-review.ts';
import { digest } from '../../operations/accounts/digest.ts';
import { AppVisits } from '../../operations/apps/app-visits.ts';
import { hasEnded, type UsableApp, usableApp, whatItWaitsFor } from '../../operations/apps/apps.ts';
import type { AppSettings } from '../../operations/apps/settings.ts';
import type { Context } from '../../operations/context.ts';
import type { AddressOf } from '../address.ts';
import { plainAddress } from '../address.ts';
import { ownCookie } from '../cookies.ts';
import { retryAfterS, statusOf } from '../json/render.ts';
import { originOf } from '../request.ts';
import type { AcceptApp } from './accept-app.ts';
import { type AppAnswer, appAnswer } from './app-answers.ts';

/** Paths of Berth itself at the host name of an application, which are never passed on. */
const OWN_PATHS = '/.berth/';
const ENTER = `${OWN_PATHS}enter`;
/** How long a browser may take for its login. */
const VISIT_S = 3_600;
const SECRET = /^[\w-]{43}$/;
const MAX_NEXT_LENGTH = 2_000;
const REFRESH_S = 3;
const WAITING = { status: 503, refreshS: REFRESH_S, retryS: REFRESH_S } as const;

export interface AppRequestsDeps {
  context: Context;
  apps: AppSettings;
  acceptApp: AcceptApp;
  addressOf: AddressOf;
  counts: AppCounts;
}

/** A request, and the application whose host it names. */
interface Asked {
  c: HonoContext;
  name: AppName;
  host: string;
  origin: string;
  url: URL;
  facts: FetchFacts;
  /** The Cookie header. */
  cookies: string | undefined;
}

export class AppRequests {
  readonly #deps: AppRequestsDeps;
  readonly #visits: AppVisits;

  constructor(deps: AppRequestsDeps) {
    this.#deps = deps;
    this.#visits = new AppVisits(deps.context);
  }

  /** `name`: null if the host names no application. */
  async answer(c: HonoContext, name: AppName | null): Promise<Response> {
    if (name === null) return this.#say(c, 'unknown', UNKNOWN);
    const asked = this.#read(c, name);
    const { url, facts } = asked;
    if (url.pathname.startsWith(OWN_PATHS))
      return url.pathname === ENTER && facts.method === 'GET'
        ? this.#enter(asked)
        : this.#say(c, 'unknown', NOTHING_HERE);
    if (isForeign(facts, asked.origin)) return this.#say(c, 'refused', FOREIGN);
    if (c.req.header('service-worker') !== undefined || facts.dest === 'serviceworker')
      return this.#say(c, 'refused', NO_WORKER);
    const pass = cookieIn(asked.cookies, APP_COOKIE);
    const account = pass === undefined ? undefined : await this.#visits.admit(pass, asked.host);
    if (!account)
      return isPageVisit(facts) ? this.#leave(asked) : this.#say(c, 'unauthenticated', logIn(asked));
    const app = await usableApp(
      this.#deps.context,
      { ...account, origin: originOf(c, this.#deps.addressOf) },
      name,
    );
    return this.#pass(asked, app);
  }

  /** The answer to an error; undefined for an unforeseen one. */
  refuse(c: HonoContext, error: OperationError | undefined): Promise<Response> {
    if (error?.code === 'not-found') return this.#say(c, 'unknown', UNKNOWN);
    const status = statusOf(error, { forbidden: 403 });
    return this.#say(c, error?.code === 'forbidden' ? 'refused' : 'failed', {
      status,
      title: status === 503 ? 'Temporarily unavailable' : 'Not possible',
      sentences: [error?.message ?? 'Berth failed to handle this request; its log has the reason.'],
      retryS: retryAfterS(error, status),
    });
  }

  /** Passes the request on to the application, if it is up. */
  async #pass(asked: Asked, app: UsableApp): Promise<Response> {
    const { c } = asked;
    const { service } = app;
    if (hasEnded(service)) return this.#say(c, 'ended', ENDED);
    const { hostId } = service;
    if (hostId === null || !['starting', 'active'].includes(service.status)) return this.#wait(asked, app);
    try {
      const response = await this.#deps.acceptApp(c, this.#requestOf(asked, app, hostId));
      this.#deps.counts.count('passed');
      return filtered(response);
    } catch (error) {
      if (!(error instanceof OperationError) || !['unavailable', 'conflict'].includes(error.code))
        throw error;
      return this.#wait(asked, app, error.message);
    }
  }

  #requestOf(
    { c, name, host, url }: Asked,
    { account, service, shared }: UsableApp,
    hostId: number,
  ): AppRequest {
    const { action: _, ...doer } = entryOf(account, { action: 'forward-port', targetId: service.id });
    return {
      subscriber: { ...logSubscriber(account, service.userId), use: { kind: 'use-app', shared } },
      serviceId: service.id,
      hostId,
      port: name.port,
      method: c.req.raw.method,
      path: url.pathname + url.search,
      headers: headersForApp(c.req.raw.headers, {
        host,
        scheme: this.#deps.apps.site.scheme,
        address: plainAddress(this.#deps.addressOf(c)),
        username: account.user.username,
      }),
      doer,
    };
  }

  async #wait({ c }: Asked, app: UsableApp, problem?: string): Promise<Response> {
    const sentences = await whatItWaitsFor(this.#deps.context, app, problem);
    return this.#say(c, 'waiting', { ...WAITING, title: `${app.service.name} is not up yet`, sentences });
  }

  /** Sends a browser without a pass to Berth, with a secret that only this browser can bring back. */
  #leave({ name, url, cookies }: Asked): Response {
    const known = cookieIn(cookies, VISIT_COOKIE);
    // Several pages may be opened at once: all of them have the same secret.
    const secret = known !== undefined && SECRET.test(known) ? known : randomBytes(32).toString('base64url');
    const next = url.pathname + url.search;
    const query = new URLSearchParams({
      app: `${name.port}-${name.serviceId}`,
      visit: digest(secret),
      next: next.length <= MAX_NEXT_LENGTH ? next : '/',
    });
    this.#deps.counts.count('log-in');
    return redirect(`${this.#deps.apps.publicUrl}/apps/open?${query}`, [
      ownCookie(bare(VISIT_COOKIE), secret, true, { maxAgeS: VISIT_S }),
    ]);
  }

  /** Exchanges a ticket for a pass. */
  async #enter({ c, host, url, cookies }: Asked): Promise<Response> {
    const ticket = url.searchParams.get('ticket') ?? '';
    const secret = cookieIn(cookies, VISIT_COOKIE);
    const entered = secret === undefined ? undefined : await this.#visits.enter(ticket, host, secret);
    if (!entered) return this.#say(c, 'refused', NO_ENTRY);
    this.#deps.counts.count('log-in');
    return redirect(pathOf(entered.next), [
      ownCookie(bare(APP_COOKIE), entered.pass, true, { maxAgeS: entered.maxAgeS }),
    ]);
  }

  #read(c: HonoContext, name: AppName): Asked {
    const { site } = this.#deps.apps;
    const header = (one: string) => c.req.header(one);
    return {
      ...{ c, name, host: appHostOf(site, name), origin: appOriginOf(site, name), url: new URL(c.req.url) },
      facts: {
        method: c.req.raw.method,
        isUpgrade: header('upgrade') !== undefined,
        site: header('sec-fetch-site'),
        mode: header('sec-fetch-mode'),
        dest: header('sec-fetch-dest'),
        origin: header('origin'),
        accept: header('accept'),
      },
      cookies: header('cookie'),
    };
  }

  #say(c: HonoContext, result: AppResult, answer: AppAnswer): Promise<Response> {
    this.#deps.counts.count(result);
    const accept = c.req.header('accept') ?? '';
    return appAnswer(answer, ['GET', 'HEAD'].includes(c.req.method) && accept.includes('text/html'));
  }
}

/** Names are given without the prefix that `ownCookie` adds. */
const bare = (name: string): string => name.replace(/^__Host-/, '');

const redirect = (location: string, cookies: readonly string[]): Response => {
  const headers = new Headers({ location, 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' });
  for (const cookie of cookies) headers.append('set-cookie', cookie);
  return new Response(null, { status: 303, headers });
};

/** A path of this host: two slashes at its beginning would name another one. */
const pathOf = (next: string): string => (/^\/(?![/\\])/.test(next) ? next : '/');

/** The answer of an application, with what may reach the browser. Body and socket stay as they are. */
function filtered(response: Response): Response {
  const kept = headersForBrowser(pairsOf(response.headers));
  const mutable = isMutable(response) ? response : new Response(response.body, response);
  const { headers } = mutable;
  for (const name of [...headers.keys()]) headers.delete(name);
  for (const [name, value] of kept) headers.append(name, value);
  return mutable;
}

/** Whether its headers can change. Those of an answer from another object on workerd can't. */
function isMutable({ headers }: Response): boolean {
  try {
    headers.delete('x-berth');
    return true;
  } catch {
    return false;
  }
}

/** Each Set-Cookie by itself. */
const pairsOf = (headers: Headers): [string, string][] => [
  ...[...headers].filter(([name]) => name !== 'set-cookie'),
  ...headers.getSetCookie().map((cookie): [string, string] => ['set-cookie', cookie]),
];

const UNKNOWN: AppAnswer = { status: 404, title: 'Not found', sentences: ['There is no such application.'] };
const NOTHING_HERE: AppAnswer = { status: 404, title: 'Not found', sentences: ['There is nothing here.'] };
const FOREIGN: AppAnswer = {
  status: 403,
  title: 'Not allowed',
  sentences: ['The request comes from another application or another site.'],
};
const NO_WORKER: AppAnswer = {
  status: 403,
  title: 'Not allowed',
  sentences: ['Applications in Berth have no service workers: they would outlive the session.'],
};
const ENDED: AppAnswer = {
  status: 410,
  title: 'The application has ended',
  sentences: ['Its execution has ended, so it does not come back at this address.'],
};
const NO_ENTRY: AppAnswer = {
  status: 400,
  title: 'This link is no longer valid',
  sentences: ['It was used, is older than a minute, or was not made for this browser.'],
  link: { href: '/', text: 'Open the application' },
};
const logIn = ({ origin }: Asked): AppAnswer => ({
  status: 401,
  title: 'Log in',
  sentences: [`Log in first: open ${origin}/ in this browser.`],
  fields: { log_in: `${origin}/` },
});
