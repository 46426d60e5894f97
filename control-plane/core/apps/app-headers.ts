/** Headers between browsers and web applications: what passes in each direction. Pure. */
import { cookieForBrowser, cookiesOfApp, hasOwnToken } from './app-cookies.ts';

export type Header = [name: string, value: string];

/** Concern one connection only (RFC 9110, 7.6.1). */
const HOP_BY_HOP: ReadonlySet<string> = new Set([
  ...['connection', 'keep-alive', 'proxy-connection', 'proxy-authenticate', 'proxy-authorization'],
  ...['proxy-authentication-info', 'te', 'trailer', 'transfer-encoding', 'upgrade', 'http2-settings'],
]);

/**
 * What only Berth or a proxy may state about a request. Programs often read these names with "_" for "-" too;
 * names with anything but letters, digits and "-" never pass.
 */
const STATED =
  /^(host|expect|forwarded|via|proxy|x-forwarded.*|x-real-ip|x-client-ip|x-cluster-client-ip|x-original-.*|x-rewrite-url|true-client-ip|fastly-client-ip|cf-.*|cdn-loop|x-berth-.*|berth-.*|x-proxy-.*|(x-)?(remote|auth-request|webauth|authenticated|ssl|client-cert|client-verify)(-.*)?|ssl-client-.*|x-amzn-oidc-.*|x-goog-(authenticated|iap)-.*|x-ms-client-principal.*|tailscale-.*)$/;
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
  const dropped = connectionOptions(all);
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

/** What an application may not set: it would reach beyond its own host name, or beyond its own life. */
const NOT_FOR_BROWSER: ReadonlySet<string> = new Set([
  ...['clear-site-data', 'strict-transport-security', 'public-key-pins', 'public-key-pins-report-only'],
  ...['expect-ct', 'alt-svc', 'nel', 'report-to', 'service-worker-allowed', 'origin-agent-cluster'],
  ...['sec-session-registration', 'secure-session-registration', 'sec-session-challenge'],
  // Node's server takes the first for the reason phrase, and with the second sends no answer at all.
  ...['status', 'x-hono-already-sent'],
]);

/**
 * What the browser gets of the headers of an answer. Names are in lower case. `prefix`: what each path of the
 * application begins with.
 */
export function headersForBrowser(headers: Iterable<Header>, prefix = ''): Header[] {
  const all = [...headers].map(([name, value]): Header => [name.toLowerCase(), value]);
  const dropped = connectionOptions(all);
  const passed = all.flatMap(([name, value]): Header[] => {
    if (dropped.has(name) || NOT_FOR_BROWSER.has(name)) return [];
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

/** Hop-by-hop headers, and those that the Connection header names. */
function connectionOptions(headers: readonly Header[]): ReadonlySet<string> {
  const named = headers
    .filter(([name]) => name === 'connection')
    .flatMap(([, value]) => value.split(',').map((one) => one.trim().toLowerCase()));
  // A client must not remove what is essential by naming it.
  return new Set([...HOP_BY_HOP, ...named.filter((name) => !ESSENTIAL.has(name))]);
}

const ESSENTIAL: ReadonlySet<string> = new Set(['content-length', 'content-type', 'cookie', 'set-cookie']);
