/**
 * All settings of the control plane: names, defaults and checks of each one. config.ts reads them, checks
 * those that belong together, and derives what the parts of the program require.
 */
import * as z from 'zod';
import { isolations } from '../shared/protocol/assignment.ts';
import { fieldsSetting } from '../shared/settings/fields-setting.ts';
import { defaultLimits, limitsSetting, workerLimits } from '../shared/settings/limits.ts';
import type { GroupRow } from './core/accounts/sign-on.ts';
import { readAppSite } from './core/apps/app-site.ts';
import {
  defaultSchedulerConfig,
  hostLossPolicies,
  placementPolicies,
  queuePolicies,
} from './core/model/scheduler-config.ts';
import { DN_PLACE, PLACE } from './directory/escaping.ts';
import { addressesIn } from './directory/ldap-settings.ts';
import { isEncrypted, NOT_ENCRYPTED, ORIGIN } from './operations/apps/settings.ts';
import { isIssuer } from './operations/sign-on/settings.ts';

const MAX_SECRET_KEYS = 8;
const MAX_GROUP_ROWS = 1_000;
const MAX_CLAIM_LENGTH = 200;
const MAX_LDAP_TEXT_LENGTH = 1_000;
const MAX_LDAP_SERVERS = 8;

export const isSecretKey = (text: string) => /^[A-Za-z0-9+/]{43}=$/.test(text);

const onOff = (value: 'on' | 'off') => z.enum(['on', 'off']).default(value);
const withoutSlash = (url: string) => url.replace(/\/$/, '');

/** Roles and quotas of the members of groups. */
const groupTable = z
  .array(
    z.strictObject({
      group: z.string().min(1),
      role: z.string().min(1),
      quota: z.string().min(1).default('default'),
    }) satisfies z.ZodType<GroupRow>,
    'must be a list of rows with group, role and quota',
  )
  .min(1, 'must have at least one row')
  .max(MAX_GROUP_ROWS, `must have at most ${MAX_GROUP_ROWS} rows`);

const claim = (name: string) =>
  z.string('must be the name of a claim').min(1).max(MAX_CLAIM_LENGTH).default(name);

/** What few providers of OpenID Connect require. */
const oidcOptions = z.object({
  name: z.string('must be a text').min(1).max(40, 'must have at most 40 characters').optional(),
  scope: z
    .string('must be a text')
    .regex(/(^| )openid( |$)/, 'must contain openid')
    .default('openid profile email'),
  createUsers: z.boolean('must be true or false').default(false),
  usernameClaim: claim('preferred_username'),
  groupsClaim: claim('groups'),
  groups: groupTable.optional(),
  logoutHint: z.boolean('must be true or false').default(false),
  sessionHours: z
    .number('must be a number of hours')
    .min(0.1, 'must be at least 0.1 hours')
    .max(12, 'must be at most 12 hours')
    .default(12),
  tokenDays: z
    .number('must be a number of days')
    .min(0, 'must be at least 0 days')
    .max(365, 'must be at most 365 days')
    .default(7),
});

const ldapText = z.string('must be a text').min(1).max(MAX_LDAP_TEXT_LENGTH);

/** What few directories require. */
const ldapOptions = z.object({
  tls: z.enum(['on', 'off', 'insecure'], 'must be "on", "off" or "insecure"').default('on'),
  ca: ldapText.optional(),
  bindDn: ldapText.optional(),
  userFilter: ldapText
    .refine((one) => one.includes(PLACE), `must contain ${PLACE}, which the user's name replaces`)
    .default('(uid={name})'),
  groups: groupTable.optional(),
  groupBase: ldapText.optional(),
  groupFilter: ldapText
    .refine(
      (one) => one.includes(DN_PLACE) || one.includes(PLACE),
      `must contain ${DN_PLACE} or ${PLACE}, which the user's distinguished name or name replaces`,
    )
    .default(`(member=${DN_PLACE})`),
});

/** Settings of every control plane. */
export const settings = z.object({
  BERTH_DATABASE_URL: z.string().min(1).optional(),
  BERTH_DATABASE_TOKEN: z.string().min(1).optional(),
  BERTH_DEPLOYMENT_NAME: z
    .string()
    .max(24)
    .regex(
      /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/,
      'must consist of lower-case letters, digits and inner "-", since it becomes part of DNS names',
    )
    .default('local'),
  BERTH_ADMIN_PASSWORD: z.string().min(1).optional(),
  BERTH_SECRET_KEYS: z
    .string()
    .transform((text) => text.split(',').map((key) => key.trim()))
    .refine((keys) => keys.length <= MAX_SECRET_KEYS, `must have at most ${MAX_SECRET_KEYS} keys`)
    .refine(
      (keys) => keys.every(isSecretKey),
      'must be keys of 32 random bytes in base64, separated by commas: `openssl rand -base64 32` makes one',
    )
    .optional(),

  BERTH_OIDC_ISSUER: z
    .string()
    .refine(isIssuer, 'must be the https URL of a provider; http works on this machine only')
    .optional(),
  BERTH_OIDC_CLIENT_ID: z.string().min(1).optional(),
  BERTH_OIDC_CLIENT_SECRET: z.string().min(1).optional(),
  BERTH_OIDC_OPTIONS: fieldsSetting(oidcOptions, { kind: 'field' }),

  BERTH_API_VARIANT: z.enum(['A', 'B', 'zoe-2018.12', 'zoe-2017.12']).default('B'),
  /** The default is that of the earlier platform. */
  BERTH_ZOE_GID: z.coerce
    .number('must be the id of a group')
    .int('must be the id of a group')
    .min(0, 'must be the id of a group')
    .max(2 ** 31 - 1, 'must be the id of a group')
    .default(5001),
  BERTH_PUBLIC_URL: z
    .string()
    .regex(
      /^https?:\/\/([a-z0-9.-]+|\[[0-9a-f:.]+\])(:\d{1,5})?\/?$/,
      'must be the http or https address of this control plane without a path, like https://berth.example.org',
    )
    .transform(withoutSlash)
    .optional(),
  BERTH_APPS_URL: z
    .string()
    .superRefine((text, { addIssue }) => {
      const read = readAppSite(text);
      if ('problem' in read) addIssue(read.problem);
    })
    .transform(withoutSlash)
    .optional(),
  BERTH_APPS_PATHS: z
    .string()
    .regex(ORIGIN, {
      error: 'must be an address without a path, like https://app-paths.example.org',
      abort: true,
    })
    .refine((url) => URL.canParse(url), {
      error: 'must be an address without a path, like https://app-paths.example.org',
      abort: true,
    })
    .refine(isEncrypted, NOT_ENCRYPTED)
    .transform(withoutSlash)
    .optional(),

  BERTH_QUEUE_POLICY: z.enum(queuePolicies).default(defaultSchedulerConfig.queuePolicy),
  BERTH_PLACEMENT_POLICY: z.enum(placementPolicies).default(defaultSchedulerConfig.placementPolicy),
  BERTH_HOST_LOSS: z.enum(hostLossPolicies).default(defaultSchedulerConfig.hostLossPolicy),
  BERTH_NETWORK_ISOLATION: z.enum(isolations).default('user'),
  BERTH_UNKNOWN_CONTAINERS: z.enum(['keep', 'remove']).default('keep'),

  BERTH_METRICS: z
    .string()
    .regex(
      /^(open|off|.{16,})$/s,
      'must be open, off, or a token of at least 16 characters; unset, it is for administrators',
    )
    .regex(/^[!-~]*$/, 'must consist of printable ASCII without spaces, since it is sent in a header')
    .optional(),
  BERTH_LIMITS: limitsSetting(workerLimits, 'must be a JSON object, since a Worker cannot read a file'),
});

/** Settings of a self-hosted control plane. */
export const nodeSettings = settings.extend({
  BERTH_PORT: z.coerce.number().int().min(0).max(65535).default(5001),
  BERTH_HOST: z.string().min(1).default('127.0.0.1'),
  BERTH_DATA_DIR: z.string().min(1).default('.berth'),
  BERTH_TRUST_PROXY: onOff('off'),
  BERTH_LOCAL_AGENT: onOff('on'),
  BERTH_STANDBY: onOff('off'),
  /** Folder with a signed agent, instead of the one that Berth comes with. */
  BERTH_AGENT_RELEASE: z.string().min(1).optional(),
  BERTH_SHOP: z.string().min(1).optional(),

  BERTH_LDAP_URL: ldapText
    .refine(
      (urls) => addressesIn(urls).every((one) => one !== undefined),
      'must be ldap://HOST or ldaps://HOST, perhaps with a port, or several of them with spaces between',
    )
    .refine(
      (urls) => addressesIn(urls).length <= MAX_LDAP_SERVERS,
      `must name at most ${MAX_LDAP_SERVERS} servers`,
    )
    .optional(),
  BERTH_LDAP_USERS: ldapText.optional(),
  BERTH_LDAP_BIND_PASSWORD: ldapText.optional(),
  BERTH_LDAP_OPTIONS: fieldsSetting(ldapOptions, { kind: 'field' }),

  BERTH_LIMITS: limitsSetting(defaultLimits),
});

export type Config = z.infer<typeof settings>;
export type NodeConfig = z.infer<typeof nodeSettings>;
