/** Settings of earlier releases, and what took their places. */
import type { LimitName } from './limits.ts';

/** What took the place of a setting. The functions take its text and return the new value. */
export type Successor =
  /** A setting with the same values. `replaced` is an earlier value of it, which has no meaning any more. */
  | { setting: string; replaced?: string }
  /** A field of a setting that is a JSON object. */
  | { setting: string; field: string; value: (text: string) => unknown }
  /** A word of a setting that is a list, for the value that was not the default. */
  | { setting: string; word: string; isMeant: (text: string) => boolean }
  | { reason: string };

const number = (text: string): number => Number(text);
const text = (given: string): string => given;
const mib = (given: string): string => `${given}MiB`;

const limit = (field: LimitName, value: (text: string) => unknown = number): Successor => ({
  setting: 'BERTH_LIMITS',
  field,
  value,
});

const isOn = (given: string): boolean => given === 'on';

/** Undefined if the text is not JSON. */
function json(given: string): unknown {
  try {
    return JSON.parse(given);
  } catch {
    return undefined;
  }
}

const option = (
  provider: 'OIDC' | 'LDAP',
  field: string,
  value: (text: string) => unknown = text,
): Successor => ({ setting: `BERTH_${provider}_OPTIONS`, field, value });

const without = (word: string, meant: string): Successor => ({
  setting: 'BERTH_AGENT_WITHOUT',
  word,
  isMeant: (given) => given === meant,
});

export const removedSettings: Readonly<Record<string, Successor>> = {
  BERTH_MAX_WAITING: limit('waiting'),
  BERTH_MAX_WAITING_PER_USER: limit('waitingPerUser'),
  BERTH_MAX_WAITING_MIB_PER_USER: limit('waitingBytesPerUser', mib),
  BERTH_MAX_PLACED_INSTANCES: limit('placedInstances'),
  BERTH_MAX_ADOPTED_INSTANCES: limit('adoptedInstances'),
  BERTH_MAX_INSTANCES_PER_EXECUTION: limit('instancesPerExecution'),
  BERTH_MAX_TEXT_MIB_PER_EXECUTION: limit('textBytesPerExecution', mib),
  BERTH_DEFAULT_MEMORY: limit('defaultMemoryBytes', text),
  BERTH_HOLD_AFTER: limit('backfillReserveAfterS'),
  BERTH_BACKFILL_RESERVE_AFTER: limit('backfillReserveAfterS'),
  BERTH_HOST_LOST_AFTER: limit('hostLostAfterS'),
  BERTH_KEEP_ENDED: limit('endedDays'),
  BERTH_MAX_UNPROVEN_IDS: limit('unprovenIds'),
  BERTH_MAX_IDEMPOTENCY_KEYS_PER_USER: limit('idempotencyKeysPerUser'),
  BERTH_MAX_AUDIT: limit('auditRows'),
  BERTH_KEEP_AUDIT: limit('auditDays'),
  BERTH_AUDIT_COMMANDS: limit('auditedCommandLength', (given) => (given === 'on' ? 4_096 : 0)),
  BERTH_MIN_PASSWORD_LENGTH: limit('minPasswordLength'),
  BERTH_MAX_WAITING_LOGINS: limit('waitingLogins'),
  BERTH_MAX_SESSIONS_PER_USER: limit('sessionsPerUser'),
  BERTH_MAX_PERSONAL_TOKENS_PER_USER: limit('personalTokensPerUser'),
  BERTH_MAX_PERSONAL_TOKEN_DAYS: limit('personalTokenDays'),
  BERTH_MAX_SECRETS_PER_USER: limit('secretsPerUser'),
  BERTH_LDAP_TIMEOUT: limit('ldapTimeoutS'),
  BERTH_LDAP_CONNECTIONS: limit('ldapConnections'),
  BERTH_MAX_BODY_MEMORY_MIB: limit('bodyMemoryBytes', mib),
  BERTH_MAX_CONNECTIONS: limit('connections'),
  BERTH_MAX_CONNECTIONS_PER_ADDRESS: limit('connectionsPerAddress'),
  BERTH_CONNECTIONS_FOR_AGENTS: limit('connectionsForAgents'),
  BERTH_MAX_PIPELINED_REQUESTS: limit('pipelinedRequests'),
  BERTH_MAX_UNREAD_MIB: limit('unreadBytes', mib),
  BERTH_HSTS_MAX_AGE: limit('hstsMaxAgeS'),
  BERTH_METRICS_HOSTS: limit('metricsHosts'),
  BERTH_MAX_HOST_MESSAGES_MIB: limit('hostMessageBytes', mib),
  BERTH_MAX_HOST_SECRETS_MIB: limit('hostSecretBytes', mib),
  BERTH_HOSTS_PER_GATEWAY: limit('hostsPerGateway'),
  BERTH_MAX_GATEWAY_MIB: limit('gatewayBytes', mib),
  BERTH_MAX_STREAMS: limit('streams'),
  BERTH_MAX_STREAMS_PER_USER: limit('streamsPerUser'),
  BERTH_MAX_STREAMS_PER_SERVICE: limit('streamsPerService'),
  BERTH_MAX_STREAMS_PER_HOST: limit('streamsPerHost'),
  BERTH_MAX_APP_REQUESTS: limit('appRequests'),
  BERTH_MAX_WAITING_APP_REQUESTS: limit('waitingAppRequests'),
  BERTH_STREAM_IDLE: limit('streamIdleS'),
  BERTH_STREAM_TIME: limit('streamTimeS'),
  BERTH_AGENT_LOG_DAYS: limit('logDays'),
  BERTH_AGENT_LOG_MAX: limit('logBytes', text),
  BERTH_AGENT_MAX_COPIES: limit('copies'),
  BERTH_AGENT_COPY_MAX: limit('copyBytes', text),
  BERTH_AGENT_KEEP_IMAGES: limit('unusedImageDays'),
  BERTH_AGENT_MIN_DISK: limit('minDiskBytes', text),
  BERTH_AGENT_CRITICAL_DISK: limit('criticalDiskBytes', text),
  BERTH_AGENT_UPDATE_WAIT: limit('updateWaitS'),
  BERTH_METRICS_TOKEN: { setting: 'BERTH_METRICS', replaced: 'token' },
  BERTH_OIDC_NAME: option('OIDC', 'name'),
  BERTH_OIDC_SCOPE: option('OIDC', 'scope'),
  BERTH_OIDC_CREATE_USERS: option('OIDC', 'createUsers', isOn),
  BERTH_OIDC_USERNAME_CLAIM: option('OIDC', 'usernameClaim'),
  BERTH_OIDC_GROUPS_CLAIM: option('OIDC', 'groupsClaim'),
  BERTH_OIDC_GROUPS: option('OIDC', 'groups', json),
  BERTH_OIDC_LOGOUT_HINT: option('OIDC', 'logoutHint', isOn),
  BERTH_OIDC_SESSION_HOURS: option('OIDC', 'sessionHours', number),
  BERTH_OIDC_TOKEN_DAYS: option('OIDC', 'tokenDays', number),
  BERTH_LDAP_USER_DN: { setting: 'BERTH_LDAP_USERS' },
  BERTH_LDAP_SEARCH_BASE: { setting: 'BERTH_LDAP_USERS' },
  BERTH_LDAP_BIND_DN: option('LDAP', 'bindDn'),
  BERTH_LDAP_SEARCH_FILTER: option('LDAP', 'userFilter'),
  BERTH_LDAP_TLS: option('LDAP', 'tls'),
  BERTH_LDAP_CA: option('LDAP', 'ca'),
  BERTH_LDAP_GROUPS: option('LDAP', 'groups', json),
  BERTH_LDAP_GROUP_BASE: option('LDAP', 'groupBase'),
  BERTH_LDAP_GROUP_FILTER: option('LDAP', 'groupFilter'),
  BERTH_AGENT_INSECURE: without('encryption', 'on'),
  BERTH_AGENT_FIREWALL: without('firewall', 'off'),
  BERTH_AGENT_OVERLAY: without('overlay', 'off'),
  BERTH_AGENT_ETC_FILES: without('read-only-etc', 'writable'),
  BERTH_AGENT_UPDATES: without('updates', 'off'),
  BERTH_EXECUTION_ENDPOINTS: { reason: 'both groups of the API have execution/endpoints' },
};
