/** Headers between browsers and web applications: what passes in each direction. Pure. */
import { connectionHeaders } from '../../../shared/streams/app-heads.ts';
import { cookieForBrowser, cookiesOfApp, hasOwnToken } from './app-cookies.ts';

export type Header = [name: string, value: string];

/**
 * What only Berth or a proxy may state about a request. Programs often read these names with "_" for "-" too;
 * names with anything but letters, digits and "-" never pass.
 */
const STATED =
  /^(host|expect|forwarded|via|proxy|x-forwarded.*|x-real-ip|x-client-ip|x-cluster-client-ip|x-original-.*|x-rewrite-url|true-client-ip|client-ip|fastly-.*|fly-client-ip|x-originating-ip|x-azure-.*|x-arr-.*|x-envoy-.*|x-appengine-.*|x-accel-.*|x-sendfile.*|cf-.*|cdn-loop|x-berth-.*|berth-.*|x-proxy-.*|(x-)?(remote|auth-request|webauth|authenticated|ssl|client-cert|client-verify)(-.*)?|ssl-client-.*|x-amzn-oidc-.*|x-goog-(authenticated|iap)-.*|x-ms-client-principal.*|tailscale-.*)$/;
const NAME = /^[a-z0-9-]+$/;
/** The schemes with which clients log in to Berth. */
const OWN_SCHEME = /^(basic|bearer)(\s|$)/i;

/** Who sends a request, and where to. */
export interface RequestFacts {
  /** As the browser sees it, with a port that is not the default one. */
  host: string;
  scheme: string;
  /** The client's address, if it is known. */
  address: string | undefined;
  username: string;
}

/** What the application gets of the headers of a request, and what Berth adds. Names are in lower case. */
export function headersForApp(headers: Iterable<Header>, facts: RequestFacts): Header[] {
  const all = [...headers].map(([name, value]): Header => [name.toLowerCase(), value]);
  const dropped = connectionHeaders(all);
  const passed = all.flatMap(([name, value]): Header[] => {
    if (!NAME.test(name) || STATED.test(name) || dropped.has(name)) return [];
    if (name === 'cookie') {
      const rest = cookiesOfApp(value);
      return rest === undefined ? [] : [[name, rest]];
    }
    if (hasOwnToken(value) || (name === 'authorization' && isOwnCredential(value))) return [];
    return [[name, value]];
  });
  return [['host', facts.host], ...passed, ...stated(facts)];
}

const isOwnCredential = (value: string): boolean =>
  OWN_SCHEME.test(value.trim()) || /(^|[\s"'=:,])berth_/i.test(value);

function stated({ host, scheme, address, username }: RequestFacts): Header[] {
  return [
    ...(address === undefined ? [] : [['x-forwarded-for', address] satisfies Header]),
    ['x-forwarded-host', host],
    ['x-forwarded-proto', scheme],
    // In percent-encoding, since a header has ASCII only.
    ['x-berth-user', encodeURIComponent(username)],
  ];
}

/**
 * What an application may not set: it would reach beyond its own host name or path, or beyond its own life.
 */
const NOT_FOR_BROWSER: ReadonlySet<string> = new Set([
  'clear-site-data',
  'strict-transport-security',
  'public-key-pins',
  'public-key-pins-report-only',
  'expect-ct',
  'alt-svc',
  'nel',
  'report-to',
  'service-worker-allowed',
  'origin-agent-cluster',
  'sec-session-registration',
  'secure-session-registration',
  'sec-session-challenge',
  'secure-session-challenge',
  'reporting-endpoints',
  'use-as-dictionary',
  'accept-ch',
  'critical-ch',
  'set-login',
  'shared-storage-write',
  'observe-browsing-topics',
  // Node's server takes the first for the reason phrase, and with the second sends no answer at all.
  'status',
  'x-hono-already-sent',
]);

/**
 * Orders to the proxy in front of Berth: to serve an internal file or address in place of the answer, to
 * cache it for others, or to take this upstream for unhealthy. Some programs read "_" for "-".
 */
const FOR_PROXIES =
  /^x[-_](accel[-_]|archive[-_]|esi$|sendfile|lighttpd|litespeed|lsadc|reproxy|envoy|passenger|varnish)|^(surrogate|edge|cdn|cloudflare)[-_]|^attribution-reporting-|[-_]cdn-cache-control$/;

/**
 * What the browser gets of the headers of an answer. Names are in lower case. `prefix`: what each path of the
 * application begins with.
 */
export function headersForBrowser(headers: Iterable<Header>, prefix = ''): Header[] {
  const all = [...headers].map(([name, value]): Header => [name.toLowerCase(), value]);
  const dropped = connectionHeaders(all);
  const passed = all.flatMap(([name, value]): Header[] => {
    if (dropped.has(name) || NOT_FOR_BROWSER.has(name) || FOR_PROXIES.test(name)) return [];
    if (name !== 'set-cookie') return [[name, value]];
    const cookie = cookieForBrowser(value, prefix);
    return cookie === undefined ? [] : [[name, cookie]];
  });
  return [
    ...passed,
    // A policy besides the application's own: both hold.
    ['content-security-policy', "frame-ancestors 'self'"],
    // Pages of other applications must not join this one by document.domain.
    ['origin-agent-cluster', '?1'],
  ];
}
