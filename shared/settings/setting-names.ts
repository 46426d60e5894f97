/**
 * The names of all settings of Berth, since programs share environments, and what is wrong with the names in
 * one. An unknown name does not stop a start, because others may have set it: Kubernetes sets
 * BERTH_SERVICE_HOST for a service `berth`.
 */
import { removedSettings, type Successor } from './removed.ts';
import { mostLike } from './similar.ts';

export const controlPlaneSettings = [
  'BERTH_PORT',
  'BERTH_HOST',
  'BERTH_DATA_DIR',
  'BERTH_DATABASE_URL',
  'BERTH_DATABASE_TOKEN',
  'BERTH_DEPLOYMENT_NAME',
  'BERTH_ADMIN_PASSWORD',
  'BERTH_SECRET_KEYS',
  'BERTH_OIDC_ISSUER',
  'BERTH_OIDC_CLIENT_ID',
  'BERTH_OIDC_CLIENT_SECRET',
  'BERTH_OIDC_OPTIONS',
  'BERTH_LDAP_URL',
  'BERTH_LDAP_USERS',
  'BERTH_LDAP_BIND_PASSWORD',
  'BERTH_LDAP_OPTIONS',
  'BERTH_API_VARIANT',
  'BERTH_ZOE_GID',
  'BERTH_PUBLIC_URL',
  'BERTH_APPS_URL',
  'BERTH_APPS_PATHS',
  'BERTH_TRUST_PROXY',
  'BERTH_LOCAL_AGENT',
  'BERTH_STANDBY',
  'BERTH_AGENT_RELEASE',
  'BERTH_SHOP',
  'BERTH_QUEUE_POLICY',
  'BERTH_PLACEMENT_POLICY',
  'BERTH_HOST_LOSS',
  'BERTH_NETWORK_ISOLATION',
  'BERTH_METRICS',
  'BERTH_UNKNOWN_CONTAINERS',
  'BERTH_LIMITS',
] as const;

export const agentSettings = [
  'BERTH_URL',
  'BERTH_JOIN_TOKEN',
  'BERTH_DEPLOYMENT_NAME',
  'BERTH_AGENT_ENGINE',
  'BERTH_AGENT_NAME',
  'BERTH_AGENT_ADDRESS',
  'BERTH_AGENT_BIND',
  'BERTH_AGENT_LABELS',
  'BERTH_AGENT_RESERVE',
  'BERTH_AGENT_VOLUME_ROOTS',
  'BERTH_AGENT_WORKSPACE_ROOT',
  'BERTH_AGENT_SECRETS_DIR',
  'BERTH_AGENT_NETWORK',
  'BERTH_AGENT_NETWORKS',
  'BERTH_AGENT_SUBNETS',
  'BERTH_AGENT_RUN_AS',
  'BERTH_AGENT_CAPABILITIES',
  'BERTH_AGENT_REGISTRIES',
  'BERTH_AGENT_RELEASE_KEY',
  'BERTH_DATA_DIR',
  'BERTH_AGENT_DATA_DIR',
  'BERTH_AGENT_WITHOUT',
  'BERTH_LIMITS',
] as const;

/** Variables of the command line, the installers, the files of Compose and the tests. */
const otherVariables = [
  'BERTH_TOKEN',
  'BERTH_BUNDLE_SHA256',
  'BERTH_ROOT',
  'BERTH_ANY_CLOCK',
  'BERTH_DEBUG',
  'BERTH_AGENT_ON_TRIAL',
  'BERTH_BEGUN_ANEW',
  'BERTH_PICTURES',
  'BERTH_DOMAIN',
  'BERTH_HTTP_PORT',
  'BERTH_HTTPS_PORT',
  'BERTH_IMAGE',
  'BERTH_AGENT_IMAGE',
];

const knownNames: readonly string[] = [...controlPlaneSettings, ...agentSettings, ...otherVariables];

type Environment = Readonly<Record<string, unknown>>;

const namesIn = (env: Environment): string[] =>
  Object.entries(env).flatMap(([name, value]) => (/^BERTH_/.test(name) && value !== '' ? [name] : []));

/** A sentence for each removed setting that the environment has. */
export function removedIn(env: Environment): string[] {
  const removed = namesIn(env).flatMap((name) => {
    const { [name]: successor } = removedSettings;
    return Object.hasOwn(removedSettings, name) && successor ? [`${name} ${wordsOf(successor)}`] : [];
  });
  return removed.length > 0 ? [...removed, REMEDY] : [];
}

const REMEDY =
  'the command `berth agent settings FILE` rewrites a file of settings (in a checkout: `npm run agent settings FILE`)';

/** What took the place of a removed setting, for a person. */
export function wordsOf(successor: Successor): string {
  if ('reason' in successor) return `is no longer a setting: ${successor.reason}`;
  if ('field' in successor) return `is now "${successor.field}" in ${successor.setting}`;
  if ('word' in successor) return `is now ${successor.word} in ${successor.setting}`;
  return `is now ${successor.setting}`;
}

/** A variable that no program of Berth has, and the name that was probably meant. */
export interface UnknownSetting {
  name: string;
  like: string | null;
}

/** The variables of the environment that look like settings of Berth and are none. */
export const unknownIn = (env: Environment): UnknownSetting[] =>
  namesIn(env)
    .filter((name) => !knownNames.includes(name) && !Object.hasOwn(removedSettings, name))
    .filter((name) => !name.startsWith('BERTH_TEST_'))
    .map((name) => ({ name, like: mostLike(name, knownNames) ?? null }));
