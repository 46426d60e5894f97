/** Settings of the directory that verifies the passwords of users of `ldap`. On Node only. */
import * as z from 'zod';
import { groupTable } from '../operations/accounts/group-table.ts';
import { DN_PLACE, PLACE } from './escaping.ts';

const MAX_TEXT_LENGTH = 1_000;
const MAX_SERVERS = 8;
const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|::1)$/;

const text = z.string().min(1).max(MAX_TEXT_LENGTH);
const template = text.refine(
  (one) => one.includes(PLACE),
  `must contain ${PLACE}, which the user's name replaces`,
);

export const ldapSettings = {
  BERTH_LDAP_URL: text
    .refine(
      (urls) => addressesIn(urls).every((one) => one !== undefined),
      'must be ldap://HOST or ldaps://HOST, perhaps with a port, or several of them with spaces between',
    )
    .refine((urls) => addressesIn(urls).length <= MAX_SERVERS, `must name at most ${MAX_SERVERS} servers`)
    .optional(),
  BERTH_LDAP_TLS: z.enum(['on', 'off', 'insecure']).default('on'),
  BERTH_LDAP_CA: text.optional(),
  BERTH_LDAP_USER_DN: template.optional(),
  BERTH_LDAP_SEARCH_BASE: text.optional(),
  BERTH_LDAP_SEARCH_FILTER: template.default('(uid={name})'),
  BERTH_LDAP_BIND_DN: text.optional(),
  BERTH_LDAP_BIND_PASSWORD: text.optional(),
  BERTH_LDAP_GROUPS: groupTable.optional(),
  BERTH_LDAP_GROUP_BASE: text.optional(),
  BERTH_LDAP_GROUP_FILTER: text
    .refine(
      (one) => one.includes(DN_PLACE) || one.includes(PLACE),
      `must contain ${DN_PLACE} or ${PLACE}, which the user's distinguished name or name replaces`,
    )
    .default(`(member=${DN_PLACE})`),
  BERTH_LDAP_TIMEOUT: z.coerce
    .number('must be a number of seconds')
    .min(0.1, 'must be at least 0.1 seconds')
    .max(30, 'must be at most 30 seconds')
    .default(5),
  BERTH_LDAP_CONNECTIONS: z.coerce
    .number('must be a number of connections')
    .int('must be a whole number of connections')
    .min(1, 'must be at least 1')
    .max(64, 'must be at most 64 connections')
    .default(4),
};

export type LdapSettings = z.infer<z.ZodObject<typeof ldapSettings>>;

/** How to connect. */
export interface LdapAddress {
  host: string;
  port: number;
  tls: 'from-start' | 'start-tls' | 'none';
}

/** How the distinguished name of a user is found. */
export type UserNaming = { by: 'template'; userDn: string } | { by: 'search'; base: string; filter: string };

/** How the groups of a user are found. */
export interface GroupSearch {
  base: string;
  filter: string;
}

export interface LdapConfig {
  /** In the order in which they are tried. */
  servers: LdapAddress[];
  /** Path of the PEM file with the authorities; undefined: those of Node. */
  caFile: string | undefined;
  naming: UserNaming;
  /** Who searches; undefined: nobody in particular. */
  reader: { dn: string; password: string } | undefined;
  /** Undefined if role and quota are administered here. */
  groups: GroupSearch | undefined;
  /** The longest that one verification may take. */
  timeoutMs: number;
  connections: number;
}

/** What contradicts itself, in words for the operator. */
export function ldapProblems(settings: LdapSettings): string[] {
  const { BERTH_LDAP_URL: url, BERTH_LDAP_USER_DN: userDn, BERTH_LDAP_SEARCH_BASE: base } = settings;
  if (url === undefined) return [];
  const addresses = addressesIn(url);
  const isPlain =
    settings.BERTH_LDAP_TLS === 'off' && addresses.some((one) => !LOOPBACK.test(one?.host ?? ''));
  return [
    ...((userDn === undefined) === (base === undefined)
      ? ['BERTH_LDAP_USER_DN: set either this or BERTH_LDAP_SEARCH_BASE if BERTH_LDAP_URL is set']
      : []),
    ...((settings.BERTH_LDAP_BIND_DN === undefined) === (settings.BERTH_LDAP_BIND_PASSWORD === undefined)
      ? []
      : ['BERTH_LDAP_BIND_DN: must be set together with BERTH_LDAP_BIND_PASSWORD']),
    ...((settings.BERTH_LDAP_GROUPS === undefined) === (settings.BERTH_LDAP_GROUP_BASE === undefined)
      ? []
      : ['BERTH_LDAP_GROUPS: must be set together with BERTH_LDAP_GROUP_BASE']),
    ...(settings.BERTH_LDAP_TLS !== 'on' && addresses.some((one) => one?.tls === 'from-start')
      ? ['BERTH_LDAP_TLS: must be on with ldaps://']
      : []),
    ...(isPlain
      ? [
          'BERTH_LDAP_TLS: off is for a directory on this machine; insecure sends passwords in plain text to any other',
        ]
      : []),
  ];
}

/** Undefined if there is no directory. The settings must have no problems. */
export function ldapConfigOf(settings: LdapSettings): LdapConfig | undefined {
  const { BERTH_LDAP_URL: urls, BERTH_LDAP_CA: caFile } = settings;
  if (urls === undefined) return undefined;
  const isEncrypted = settings.BERTH_LDAP_TLS === 'on';
  const servers = addressesIn(urls).flatMap((one) =>
    one ? [{ ...one, tls: isEncrypted ? one.tls : ('none' as const) }] : [],
  );
  return {
    servers,
    caFile,
    naming: namingOf(settings),
    reader: readerOf(settings),
    groups: groupsOf(settings),
    timeoutMs: Math.round(settings.BERTH_LDAP_TIMEOUT * 1_000),
    connections: settings.BERTH_LDAP_CONNECTIONS,
  };
}

function namingOf(settings: LdapSettings): UserNaming {
  const { BERTH_LDAP_USER_DN: userDn, BERTH_LDAP_SEARCH_BASE: base = '' } = settings;
  if (userDn !== undefined) return { by: 'template', userDn };
  return { by: 'search', base, filter: settings.BERTH_LDAP_SEARCH_FILTER };
}

const readerOf = ({ BERTH_LDAP_BIND_DN: dn, BERTH_LDAP_BIND_PASSWORD: password }: LdapSettings) =>
  dn === undefined || password === undefined ? undefined : { dn, password };

function groupsOf(settings: LdapSettings): GroupSearch | undefined {
  const { BERTH_LDAP_GROUPS: rows, BERTH_LDAP_GROUP_BASE: base = '' } = settings;
  return rows && { base, filter: settings.BERTH_LDAP_GROUP_FILTER };
}

const addressesIn = (urls: string) => urls.trim().split(/\s+/).map(addressOf);

/** Undefined if the text is anything else than a scheme, a host and perhaps a port. */
function addressOf(url: string): LdapAddress | undefined {
  const [, scheme, inBrackets, name, port] =
    /^(ldaps?):\/\/(?:\[([0-9a-f:.]+)\]|([\w.-]+))(?::(\d{1,5}))?\/?$/i.exec(url) ?? [];
  if (scheme === undefined || Number(port ?? 1) > 65_535) return undefined;
  const isTls = scheme.toLowerCase() === 'ldaps';
  return {
    host: inBrackets ?? name ?? '',
    port: port === undefined ? (isTls ? 636 : 389) : Number(port),
    tls: isTls ? 'from-start' : 'start-tls',
  };
}
