/** Sign-on by OpenID Connect, as the settings describe it. */
import type { GroupRow, SignOnSettings } from '../../core/accounts/sign-on.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** True for https, and for http to this machine, without a query. */
export function isIssuer(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && `${url.search}${url.hash}` === '' && isSecure(text, true);
}

/** True for https, and with `allowsLocal` for http to this machine. */
export function isSecure(text: unknown, allowsLocal: boolean): boolean {
  const url = typeof text === 'string' ? URL.parse(text) : null;
  if (url === null || url.username !== '') return false;
  const isLoopback = ['127.0.0.1', '[::1]', 'localhost'].includes(url.hostname);
  return url.protocol === 'https:' || (allowsLocal && isLoopback && url.protocol === 'http:');
}

/** The settings of sign-on, as control-plane/settings.ts has checked them. */
interface Config {
  BERTH_OIDC_ISSUER?: string | undefined;
  BERTH_OIDC_CLIENT_ID?: string | undefined;
  BERTH_OIDC_CLIENT_SECRET?: string | undefined;
  BERTH_OIDC_OPTIONS: {
    /** Name of the provider on the login page. */
    name?: string | undefined;
    scope: string;
    createUsers: boolean;
    usernameClaim: string;
    groupsClaim: string;
    groups?: GroupRow[] | undefined;
    logoutHint: boolean;
    sessionHours: number;
    tokenDays: number;
  };
}

/** Problems of settings that belong together. */
export const signOnProblems = ({ BERTH_OIDC_ISSUER, BERTH_OIDC_CLIENT_ID }: Config): string[] =>
  (BERTH_OIDC_ISSUER === undefined) === (BERTH_OIDC_CLIENT_ID === undefined)
    ? []
    : ['BERTH_OIDC_ISSUER and BERTH_OIDC_CLIENT_ID: set both for sign-on, or none'];

/** Undefined if nobody signs on. */
export function signOnOf(config: Config): SignOnSettings | undefined {
  const { BERTH_OIDC_ISSUER: issuer, BERTH_OIDC_CLIENT_ID: clientId, BERTH_OIDC_OPTIONS: options } = config;
  if (issuer === undefined || clientId === undefined) return undefined;
  return {
    issuer,
    clientId,
    clientSecret: config.BERTH_OIDC_CLIENT_SECRET,
    name: options.name ?? new URL(issuer).hostname,
    scope: options.scope,
    createsUsers: options.createUsers,
    usernameClaim: options.usernameClaim,
    groupsClaim: options.groupsClaim,
    groups: options.groups,
    logoutHint: options.logoutHint,
    sessionMs: Math.round(options.sessionHours * HOUR_MS),
    tokensMs: Math.round(options.tokenDays * DAY_MS),
  };
}
