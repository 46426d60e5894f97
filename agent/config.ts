/** Reads the agent's settings, with their defaults, and reports all invalid settings at once. */
import { readFileSync } from 'node:fs';
import { isIPv4, isIPv6 } from 'node:net';
import { withLimitsFile } from '../shared/settings/limits-file.ts';
import { removedIn } from '../shared/settings/setting-names.ts';
import { isLoopback } from '../shared/streams/masks.ts';
import { socketOf } from './engine/engine-address.ts';
import type { Subnet } from './engine/networks/subnets.ts';
import type { Reserve } from './reserve.ts';
import { type Settings, settingsSchema } from './settings.ts';

export interface Config {
  /** Addresses of the control planes, `http(s)://`, of which one is active. At least one. */
  urls: URL[];
  /** Registers this machine as a host. Used once. */
  joinToken: string | undefined;
  deployment: string;
  /** A value of DOCKER_HOST. */
  dockerHost: string;
  /** Id of an engine that may take the place of the host's earlier one. */
  acceptedEngine: string | undefined;
  name: string;
  /** True if the name comes from a setting, false if it is the machine's host name. */
  isNameGiven: boolean;
  labels: string[];
  /** Address at which others reach the published ports of this host. */
  address: string;
  /** Address of the host on which containers publish their ports. Null: all, of IPv4 and IPv6. */
  bind: string | null;
  /** Subtracted from the capacity that the host offers. */
  reserve: Reserve;
  /** Host folders that volumes must lie beneath. If empty, no volumes are allowed. */
  volumeRoots: string[];
  workspaceRoot: string | null;
  /** An existing network for all containers of the deployment. Null: the agent creates networks. */
  network: string | null;
  /** Networks that a description may name. */
  networks: string[];
  /** The user of containers with host folders. */
  runAs: 'image' | 'fs_uid';
  /** Capabilities of all containers, besides the usual ones. */
  capabilities: string[];
  /** Whether containers may write to the files that the engine makes for their /etc. */
  etcFiles: 'read-only' | 'writable';
  /** Registries that images may come from, as image names have them, or `public`. */
  registries: string[];
  /** Ranges of addresses for the networks that the agent creates. */
  subnets: Subnet[];
  /** True if the agent keeps containers from the host's services and the metadata service of a cloud. */
  firewall: boolean;
  /** True if containers join overlay networks of the engine's swarm. */
  overlay: boolean;
  logDays: number;
  /** Most bytes of one service's stored output. */
  logMaxBytes: number;
  /** Most copies into services and out of them at once. */
  maxCopies: number;
  /** Most bytes of one copy. */
  copyMaxBytes: number;
  /** Images that Berth pulled and nobody has used for so many days are removed. 0: they stay for ever. */
  keepImagesDays: number;
  /**
   * Minimum of free disk space for containers, images and logs; below it the host takes no new services. 0:
   * no minimum.
   */
  minDiskBytes: number;
  /** Below this much free space on the engine's disk, the services that hold most are ended. 0: never. */
  criticalDiskBytes: number;
  dataDir: string;
  /** Folder in memory for files with secrets. Null: the engine is on another machine. */
  secretsDir: string | null;
  update: UpdateSettings;
}

export interface UpdateSettings {
  /** Whether the control plane may update the agent. */
  isAllowed: boolean;
  /** The release key that was pinned at the installation. */
  releaseKey: string | undefined;
  /** How long a new agent has to connect. */
  waitMs: number;
}

/** Facts about the machine that the defaults come from. */
export interface Machine {
  hostname: string;
  /** Address of the interface of the default route. Undefined if no such interface exists. */
  routedAddress: string | undefined;
  /** All addresses of its interfaces, loopback included. */
  addresses: readonly string[];
  /** Whether all of 127.0.0.0/8 leads to this machine, as on Linux. */
  hasWholeLoopback: boolean;
  dockerHost: string;
}

export class ConfigError extends Error {
  override name = 'ConfigError';
}

/** Reads the settings from `env`; an empty setting counts as unset. Throws ConfigError with every problem. */
export function readConfig(env: NodeJS.ProcessEnv, machine: Machine): Config {
  const settings = readSettings(env);
  const { BERTH_LIMITS: limits, BERTH_AGENT_WITHOUT: without } = settings;
  const urls = settings.BERTH_URL.map((url) => new URL(url));
  const insecure = urls.find((url) => url.protocol === 'http:' && !isLoopback(url.hostname));
  if (insecure && !without.includes('encryption')) throw new ConfigError(insecureUrl(insecure));
  const dockerHost = settings.DOCKER_HOST ?? machine.dockerHost;
  return {
    urls,
    joinToken: settings.BERTH_JOIN_TOKEN,
    deployment: settings.BERTH_DEPLOYMENT_NAME,
    dockerHost,
    acceptedEngine: settings.BERTH_AGENT_ENGINE,
    name: settings.BERTH_AGENT_NAME ?? machine.hostname,
    isNameGiven: settings.BERTH_AGENT_NAME !== undefined,
    labels: settings.BERTH_AGENT_LABELS,
    ...publishedAt(settings, urls, dockerHost, machine),
    reserve: settings.BERTH_AGENT_RESERVE,
    volumeRoots: settings.BERTH_AGENT_VOLUME_ROOTS,
    workspaceRoot: settings.BERTH_AGENT_WORKSPACE_ROOT ?? null,
    network: settings.BERTH_AGENT_NETWORK ?? null,
    networks: settings.BERTH_AGENT_NETWORKS,
    runAs: settings.BERTH_AGENT_RUN_AS,
    capabilities: settings.BERTH_AGENT_CAPABILITIES,
    etcFiles: without.includes('read-only-etc') ? 'writable' : 'read-only',
    registries: settings.BERTH_AGENT_REGISTRIES,
    subnets: settings.BERTH_AGENT_SUBNETS,
    firewall: !without.includes('firewall'),
    overlay: !without.includes('overlay'),
    logDays: limits.logDays,
    logMaxBytes: limits.logBytes,
    maxCopies: limits.copies,
    copyMaxBytes: limits.copyBytes,
    keepImagesDays: limits.unusedImageDays,
    minDiskBytes: limits.minDiskBytes,
    criticalDiskBytes: Math.min(limits.criticalDiskBytes, limits.minDiskBytes),
    update: {
      isAllowed: !without.includes('updates'),
      releaseKey: settings.BERTH_AGENT_RELEASE_KEY,
      waitMs: limits.updateWaitS * 1_000,
    },
    secretsDir: socketOf(dockerHost) === undefined ? null : settings.BERTH_AGENT_SECRETS_DIR,
    dataDir: settings.BERTH_AGENT_DATA_DIR ?? `${settings.BERTH_DATA_DIR}/agent`,
  };
}

/** The name of a setting, or of a field of one; without the place in a list. */
const nameOf = (path: readonly PropertyKey[]): string =>
  path.filter((part) => typeof part === 'string').join('.');

function readSettings(env: NodeJS.ProcessEnv): Settings {
  const given = Object.entries(withLimitsFile(env, (path) => readFileSync(path, 'utf8'))).filter(
    ([, value]) => value !== '',
  );
  const result = settingsSchema.safeParse(Object.fromEntries(given));
  const issues = result.error?.issues.map(({ path, message }) => `${nameOf(path)} ${message}`) ?? [];
  const problems = [...removedIn(env), ...new Set(issues)];
  if (result.success && problems.length === 0) return result.data;
  throw new ConfigError(`The agent's settings are invalid: ${problems.join('; ')}.`);
}

/**
 * Where clients reach published ports, and where the ports listen. By default the two are the same address
 * (P106). A name, or an address that a gateway translates, does not determine on which address to listen.
 */
function publishedAt(
  { BERTH_AGENT_ADDRESS: given, BERTH_AGENT_BIND: bind }: Settings,
  urls: readonly URL[],
  dockerHost: string,
  machine: Machine,
): Pick<Config, 'address' | 'bind'> {
  // The engine of another machine has other addresses than this one.
  const isOwn = (address: string) => socketOf(dockerHost) !== undefined && isAddressOf(machine, address);
  const isAllIpv4 = bind === '0.0.0.0';
  const isAll = isAllIpv4 || (bind !== undefined && canonical(bind) === '[::]');
  if (bind !== undefined && !isAll) {
    const address = given ?? bind;
    if (canonical(address) !== canonical(bind) && isOwn(address))
      throw new ConfigError(
        `The agent's settings are invalid: BERTH_AGENT_ADDRESS ${address} is an address of this machine on which no published port listens, because BERTH_AGENT_BIND is ${bind}. Set both to the same address, or BERTH_AGENT_BIND to 0.0.0.0.`,
      );
    return { address, bind };
  }
  const routed = urls.every(({ hostname }) => isLoopback(hostname)) ? undefined : machine.routedAddress;
  const address = given ?? routed ?? loopbackApart(urls, isOwn);
  if (isAllIpv4) return { address, bind };
  return { address, bind: !isAll && isOwn(address) ? address : null };
}

/**
 * An address of loopback at which no control plane is, since browsers send a cookie to every port of the host
 * that set it (P317). 127.0.0.1 on a system that has no other.
 */
function loopbackApart(urls: readonly URL[], isOwn: (address: string) => boolean): string {
  // One more than there may be addresses of control planes.
  const others = Array.from({ length: urls.length + 1 }, (_, at) => `127.0.0.${at + 2}`);
  const apart = others.find((address) => urls.every(({ hostname }) => hostname !== address));
  return apart !== undefined && isOwn(apart) ? apart : '127.0.0.1';
}

const isAddressOf = ({ addresses, hasWholeLoopback }: Machine, address: string): boolean =>
  addresses.map(canonical).includes(canonical(address)) ||
  (hasWholeLoopback && isIPv4(address) && address.startsWith('127.'));

/** One text for all spellings of an IPv6 address. */
const canonical = (address: string): string =>
  isIPv6(address) ? new URL(`http://[${address.replace(/%.*/, '')}]`).hostname : address;

const insecureUrl = (url: URL): string =>
  `BERTH_URL=${url.href} is on another machine and not encrypted: anyone on the path could give this host orders. ` +
  'Set it to the https:// address of the control plane, or set BERTH_AGENT_WITHOUT=encryption if you trust the network.';
