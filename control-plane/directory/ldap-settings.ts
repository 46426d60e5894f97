/**
 * The directory that verifies the passwords of users of `ldap`, as the settings describe it. On Node only.
 */
import type { Limits } from '../../shared/settings/limits.ts';
import type { GroupRow } from '../core/accounts/sign-on.ts';
import { PLACE } from './escaping.ts';

const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|::1)$/;

/** The settings of the directory, as control-plane/settings.ts has checked them. */
export interface LdapSettings {
  BERTH_LDAP_URL?: string | undefined;
  /** A distinguished name with a place for the user's name, or the entry below which users are searched. */
  BERTH_LDAP_USERS?: string | undefined;
  BERTH_LDAP_BIND_PASSWORD?: string | undefined;
  BERTH_LDAP_OPTIONS: {
    tls: 'on' | 'off' | 'insecure';
    /** Path of the PEM file with the authorities. */
    ca?: string | undefined;
    /** Who searches; undefined: nobody in particular. */
    bindDn?: string | undefined;
    userFilter: string;
    groups?: GroupRow[] | undefined;
    groupBase?: string | undefined;
    groupFilter: string;
  };
  BERTH_LIMITS: Pick<Limits, 'ldapTimeoutS' | 'ldapConnections'>;
}

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
  const { BERTH_LDAP_URL: url, BERTH_LDAP_OPTIONS: options } = settings;
  if (url === undefined) return [];
  const addresses = addressesIn(url);
  const isPlain = options.tls === 'off' && addresses.some((one) => !LOOPBACK.test(one?.host ?? ''));
  return [
    ...(settings.BERTH_LDAP_USERS === undefined
      ? ['BERTH_LDAP_USERS: must be set if BERTH_LDAP_URL is set']
      : []),
    ...((options.bindDn === undefined) === (settings.BERTH_LDAP_BIND_PASSWORD === undefined)
      ? []
      : ['BERTH_LDAP_OPTIONS.bindDn: must be set together with BERTH_LDAP_BIND_PASSWORD']),
    ...((options.groups === undefined) === (options.groupBase === undefined)
      ? []
      : ['BERTH_LDAP_OPTIONS.groups: must be set together with groupBase']),
    ...(options.tls !== 'on' && addresses.some((one) => one?.tls === 'from-start')
      ? ['BERTH_LDAP_OPTIONS.tls: must be on with ldaps://']
      : []),
    ...(isPlain
      ? [
          'BERTH_LDAP_OPTIONS.tls: off is for a directory on this machine; insecure sends passwords in plain text to any other',
        ]
      : []),
  ];
}

/** Undefined if there is no directory. The settings must have no problems. */
export function ldapConfigOf(settings: LdapSettings): LdapConfig | undefined {
  const { BERTH_LDAP_URL: urls, BERTH_LDAP_USERS: users = '', BERTH_LDAP_OPTIONS: options } = settings;
  if (urls === undefined) return undefined;
  const isEncrypted = options.tls === 'on';
  const servers = addressesIn(urls).flatMap((one) =>
    one ? [{ ...one, tls: isEncrypted ? one.tls : ('none' as const) }] : [],
  );
  return {
    servers,
    caFile: options.ca,
    naming: users.includes(PLACE)
      ? { by: 'template', userDn: users }
      : { by: 'search', base: users, filter: options.userFilter },
    reader: readerOf(settings),
    groups: options.groups && { base: options.groupBase ?? '', filter: options.groupFilter },
    timeoutMs: Math.round(settings.BERTH_LIMITS.ldapTimeoutS * 1_000),
    connections: settings.BERTH_LIMITS.ldapConnections,
  };
}

const readerOf = ({
  BERTH_LDAP_OPTIONS: { bindDn: dn },
  BERTH_LDAP_BIND_PASSWORD: password,
}: LdapSettings) => (dn === undefined || password === undefined ? undefined : { dn, password });

/** Undefined for each that is not an address. */
export const addressesIn = (urls: string) => urls.trim().split(/\s+/).map(addressOf);

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
