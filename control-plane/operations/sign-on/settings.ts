/** Settings of sign-on by OpenID Connect: names, defaults and checks. */
import * as z from 'zod';
import type { SignOnSettings } from '../../core/accounts/sign-on.ts';
import { groupTable } from '../accounts/group-table.ts';

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

const claim = (name: string) => z.string().min(1).max(200).default(name);

export const signOnSettings = {
  BERTH_OIDC_ISSUER: z
    .string()
    .refine(isIssuer, 'must be the https URL of a provider; http works on this machine only')
    .optional(),
  BERTH_OIDC_CLIENT_ID: z.string().min(1).optional(),
  BERTH_OIDC_CLIENT_SECRET: z.string().min(1).optional(),
  BERTH_OIDC_NAME: z.string().min(1).max(40).optional(),
  BERTH_OIDC_SCOPE: z
    .string()
    .regex(/(^| )openid( |$)/, 'must contain openid')
    .default('openid profile email'),
  BERTH_OIDC_CREATE_USERS: z.enum(['on', 'off']).default('off'),
  BERTH_OIDC_USERNAME_CLAIM: claim('preferred_username'),
  BERTH_OIDC_GROUPS_CLAIM: claim('groups'),
  BERTH_OIDC_GROUPS: groupTable.optional(),
  BERTH_OIDC_LOGOUT_HINT: z.enum(['on', 'off']).default('off'),
  BERTH_OIDC_SESSION_HOURS: z.coerce
    .number('must be a number of hours')
    .min(0.1, 'must be at least 0.1 hours')
    .max(12, 'must be at most 12 hours')
    .default(12),
  BERTH_OIDC_TOKEN_DAYS: z.coerce
    .number('must be a number of days')
    .min(0, 'must be at least 0 days')
    .max(365, 'must be at most 365 days')
    .default(7),
};

type Config = z.infer<z.ZodObject<typeof signOnSettings>>;

/** Problems of settings that belong together. */
export const signOnProblems = ({ BERTH_OIDC_ISSUER, BERTH_OIDC_CLIENT_ID }: Config): string[] =>
  (BERTH_OIDC_ISSUER === undefined) === (BERTH_OIDC_CLIENT_ID === undefined)
    ? []
    : ['BERTH_OIDC_ISSUER and BERTH_OIDC_CLIENT_ID: set both for sign-on, or none'];

/** Undefined if nobody signs on. */
export function signOnOf(config: Config): SignOnSettings | undefined {
  const { BERTH_OIDC_ISSUER: issuer, BERTH_OIDC_CLIENT_ID: clientId } = config;
  if (issuer === undefined || clientId === undefined) return undefined;
  return {
    issuer,
    clientId,
    clientSecret: config.BERTH_OIDC_CLIENT_SECRET,
    name: config.BERTH_OIDC_NAME ?? new URL(issuer).hostname,
    scope: config.BERTH_OIDC_SCOPE,
    createsUsers: config.BERTH_OIDC_CREATE_USERS === 'on',
    usernameClaim: config.BERTH_OIDC_USERNAME_CLAIM,
    groupsClaim: config.BERTH_OIDC_GROUPS_CLAIM,
    groups: config.BERTH_OIDC_GROUPS,
    logoutHint: config.BERTH_OIDC_LOGOUT_HINT === 'on',
    sessionMs: Math.round(config.BERTH_OIDC_SESSION_HOURS * HOUR_MS),
    tokensMs: Math.round(config.BERTH_OIDC_TOKEN_DAYS * DAY_MS),
  };
}
