/** Requests to web applications, at host names and at paths: who may send them, and what passes. */
import { randomBytes } from 'node:crypto';
import type { Context as HonoContext } from 'hono';
import { generateCookie } from 'hono/cookie';
import type { KnownActor } from '../../core/accounts/account.ts';
import { entryOf } from '../../core/accounts/audit.ts';
import { pathApp } from '../../core/apps/app-address.ts';
import { cookieIn, hasSeveral, severalText } from '../../core/apps/app-cookies.ts';
import { headersForApp, headersForBrowser } from '../../core/apps/app-headers.ts';
import {
  type AppPlace,
  idOfPlace,
  nameOfPlace,
  pathAt,
  placeAtHost,
  placeAtPath,
} from '../../core/apps/app-place.ts';
import type { AppName } from '../../core/apps/app-site.ts';
import { type FetchFacts, isForeign, isPageVisit } from '../../core/apps/fetch-origin.ts';
import type { AppCounts, AppResult } from '../../core/metrics/app-counts.ts';
import { OperationError } from '../../core/model/errors.ts';
import { RecentMap } from '../../core/model/recent-map.ts';
import type { AppGrant, AppRequest } from '../../core/streams/app-request.ts';
import type { AddressOf } from '../../guard/address.ts';
import { plainAddress } from '../../guard/address.ts';
import { logSubscriber } from '../../operations/access-review.ts';
import { digest } from '../../operations/accounts/digest.ts';
import { AppVisits, type Pass } from '../../operations/apps/app-visits.ts';
import { findApp, hasEnded, type UsableApp, usableApp, whatItWaitsFor } from '../../operations/apps/apps.ts';
import type { AppSettings } from '../../operations/apps/settings.ts';
import type { Context } from '../../operations/context.ts';
import { retryAfterS, statusOf } from '../json/render.ts';
import { originOf } from '../request.ts';
import type { AcceptApp } from './accept-app.ts';
import {
  type AppAnswer,
  appAnswer,
  ENDED,
  FOREIGN,
  NO_WORKER,
  NOTHING_HERE,
  UNKNOWN,
} from './app-answers.ts';

/** Paths of Berth itself at the place of an application, which are never passed on. */
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

/** A request, and the application that it names. */
interface Asked {
  c: HonoContext;
  place: AppPlace;
  url: URL;
  facts: FetchFacts;
  /** The Cookie header. */
  cookies: string | undefined;
}

/** Who was admitted to an application, and for what. */
interface Admitted {
  account: KnownActor;
  grant: AppGrant;
}

/** Sessions with applications that they use. Each takes a kilobyte. */
const REMEMBERED = 2_000;

export class AppRequests {
  readonly #deps: AppRequestsDeps;
  readonly #visits: AppVisits;
  readonly #admitted = new RecentMap<string, Admitted>(REMEMBERED);

  constructor(deps: AppRequestsDeps) {
    this.#deps = deps;
    this.#visits = new AppVisits(deps.context);
  }

  /** `named`: what the host of the request names; null for a name without an application. */
  async answer(c: HonoContext, named: AppName | 'paths' | null): Promise<Response> {
    const url = new URL(c.req.url);
    const place = this.#placeOf(named, url);
    if (!place) return this.#say(c, 'unknown', UNKNOWN);
    const { prefix } = place;
    // A cookie that an application sets without a path would be for all of them.
    if (url.pathname === prefix) return redirect(`${prefix}/${url.search}`, [], 308);
    const asked = this.#read(c, place, url);
    const { facts } = asked;
    if (url.pathname.startsWith(prefix + OWN_PATHS))
      return url.pathname === prefix + ENTER && facts.method === 'GET'
        ? this.#enter(asked)
        : this.#say(c, 'unknown', NOTHING_HERE);
    if (isForeign(facts, place.origin)) return this.#say(c, 'refused', FOREIGN);
    if (c.req.header('service-worker') !== undefined || facts.dest === 'serviceworker')
      return this.#say(c, 'refused', NO_WORKER);
    const several = severalCookies(asked);
    if (several) return this.#say(c, 'unauthenticated', several);
    const sealed = cookieIn(asked.cookies, place.cookies.pass);
    const pass = sealed === undefined ? undefined : await this.#visits.open(sealed, idOfPlace(place));
    return (
      (pass && (await this.#admit(asked, pass))) ??
      (isPageVisit(facts) ? this.#leave(asked) : this.#say(c, 'unauthenticated', logIn(asked)))
    );
  }

  /**
   * Undefined if the session of the pass has ended. The database decides, unless a permit is alive, which
   * ends before a change of what it was granted for is answered (H762).
   */
  async #admit(asked: Asked, pass: Pass): Promise<Response | undefined> {
    const { context, addressOf } = this.#deps;
    const { name } = asked.place;
    const key = `${pass.sessionHash} ${name.serviceId} ${name.port}`;
    const admitted = this.#admitted.get(key);
    let problem: string | undefined;
    if (admitted && isFor(pass, admitted)) {
      const passed = await this.#pass(asked, admitted, true);
      if (passed instanceof Response) return passed;
      problem = passed?.problem;
    }
    const finding = findApp(context, name);
    finding.catch(() => {});
    const user = await this.#visits.userOf(pass);
    if (!user) return undefined;
    const account = { ...user, origin: originOf(asked.c, addressOf) };
    const app = await usableApp(context, account, name, finding);
    const { service, shared } = app;
    if (hasEnded(service)) return this.#say(asked.c, 'ended', ENDED);
    const { hostId } = service;
    if (hostId === null || !['starting', 'active'].includes(service.status)) return this.#wait(asked, app);
    if (problem !== undefined) return this.#wait(asked, app, problem);
    const subscriber = {
      ...logSubscriber(account, service.userId),
      use: { kind: 'use-app', shared } as const,
    };
    const grant = { subscriber, hostId };
    this.#admitted.set(key, { account: user, grant });
    const passed = await this.#pass(asked, { account, grant }, false);
    return passed instanceof Response ? passed : this.#wait(asked, app, passed?.problem);
  }

  /** The proof of a path is verified when a ticket is granted: no pass is for one that is not genuine. */
  #placeOf(named: AppName | 'paths' | null, { pathname }: URL): AppPlace | undefined {
    const { site, paths } = this.#deps.apps;
    if (named !== 'paths') return named && site ? placeAtHost(site, named) : undefined;
    const app = pathApp(pathname);
    return app && paths ? placeAtPath(paths, app) : undefined;
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

  /** Passes the request on to the application. Resolves to why it is not up, if it is not. See AcceptApp. */
  async #pass(
    asked: Asked,
    admitted: Admitted,
    isKnown: boolean,
  ): Promise<Response | { problem: string } | undefined> {
    const { c, place } = asked;
    try {
      const relayed = await this.#deps.acceptApp(c, this.#requestOf(asked, admitted), isKnown);
      if (!relayed) return undefined;
      this.#deps.counts.count('passed');
      return relayed.respond(headersForBrowser(relayed.headers, place.prefix));
    } catch (error) {
      if (!(error instanceof OperationError) || !['unavailable', 'conflict'].includes(error.code))
        throw error;
      return { problem: error.message };
    }
  }

  #requestOf({ c, place: { name, host, scheme }, url }: Asked, { account, grant }: Admitted): AppRequest {
    const { action: _, ...doer } = entryOf(account, { action: 'forward-port', targetId: name.serviceId });
    return {
      ...grant,
      ...name,
      method: c.req.raw.method,
      path: url.pathname + url.search,
      headers: headersForApp(c.req.raw.headers, {
        host,
        scheme,
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
  #leave({ place, url, cookies }: Asked): Response {
    const known = cookieIn(cookies, place.cookies.visit);
    // Several pages may be opened at once: all of them have the same secret.
    const secret = known !== undefined && SECRET.test(known) ? known : randomBytes(32).toString('base64url');
    const next = url.pathname + url.search;
    const query = new URLSearchParams({
      app: nameOfPlace(place),
      visit: digest(secret),
      next: next.length <= MAX_NEXT_LENGTH ? next : `${place.prefix}/`,
    });
    this.#deps.counts.count('log-in');
    return redirect(`${this.#deps.apps.publicUrl}/apps/open?${query}`, [
      ownCookie(place, 'visit', secret, VISIT_S),
    ]);
  }

  /** Exchanges a ticket for a pass. */
  async #enter({ c, place, url, cookies }: Asked): Promise<Response> {
    const several = severalCookies({ place, cookies });
    if (several) return this.#say(c, 'unauthenticated', several);
    const ticket = url.searchParams.get('ticket') ?? '';
    const secret = cookieIn(cookies, place.cookies.visit);
    const entered =
      secret === undefined ? undefined : await this.#visits.enter(ticket, idOfPlace(place), secret);
    if (!entered) return this.#say(c, 'refused', noEntry(place));
    this.#deps.counts.count('log-in');
    return redirect(pathAt(place, entered.next), [ownCookie(place, 'pass', entered.pass, entered.maxAgeS)]);
  }

  #read(c: HonoContext, place: AppPlace, url: URL): Asked {
    const header = (one: string) => c.req.header(one);
    return {
      c,
      place,
      url,
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
    const { refreshS, ...once } = answer;
    // To go on is a GET, which would lose a form that was sent.
    const isRepeatable = refreshS !== undefined && ['GET', 'HEAD'].includes(c.req.method);
    const isPage = (c.req.header('accept') ?? '').includes('text/html');
    return appAnswer(isRepeatable ? answer : once, isPage);
  }
}

const isFor = ({ userId, credentialVersion }: Pass, { grant: { subscriber } }: Admitted): boolean =>
  subscriber.userId === userId && subscriber.credentialVersion === credentialVersion;

/** A Set-Cookie header for this place alone. */
const ownCookie = (
  { cookies, prefix }: AppPlace,
  kind: keyof AppPlace['cookies'],
  value: string,
  maxAge: number,
): string =>
  generateCookie(cookies[kind], value, {
    httpOnly: true,
    sameSite: 'Lax',
    secure: true,
    path: `${prefix}/`,
    maxAge,
  });

const redirect = (location: string, cookies: readonly string[], status = 303): Response => {
  const headers = new Headers({ location, 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' });
  for (const cookie of cookies) headers.append('set-cookie', cookie);
  return new Response(null, { status, headers });
};

const noEntry = ({ prefix }: AppPlace): AppAnswer => ({
  status: 400,
  title: 'This link is no longer valid',
  sentences: ['It was used, is older than a minute, or was not made for this browser.'],
  link: { href: `${prefix}/`, text: 'Open the application' },
});
/** A visit would go on without an end: each login adds the cookie that is not the only one. */
function severalCookies({ place, cookies }: Pick<Asked, 'place' | 'cookies'>): AppAnswer | undefined {
  const name = Object.values(place.cookies).find((one) => hasSeveral(cookies, one));
  if (name === undefined) return undefined;
  return {
    status: 401,
    title: 'Two cookies of one name',
    sentences: [severalText(name, place.host)],
    link: { href: `${place.prefix}/`, text: 'Open the application' },
  };
}
const logIn = ({ place: { origin, prefix } }: Asked): AppAnswer => ({
  status: 401,
  title: 'Log in',
  sentences: [`Log in first: open ${origin}${prefix}/ in this browser.`],
  link: { href: `${prefix}/`, text: 'Open the application' },
  fields: { log_in: `${origin}${prefix}/` },
});
