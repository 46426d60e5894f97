/** Reads the agent's settings, with their defaults, and reports all invalid settings at once. */
import { isIPv6 } from 'node:net';
import * as z from 'zod';
import { parseBytes } from '../shared/sizes.ts';
import { capabilityOf } from './engine/capabilities.ts';
import { socketOf } from './engine/engine-address.ts';
import { parseSubnet, type Subnet } from './engine/networks/subnets.ts';
import { parseReserve, type Reserve } from './reserve.ts';

export interface Config {
  /** Addresses of the control planes, `http(s)://`, of which one is active. At least one. */
  urls: URL[];
  /** Registers this machine as a host. Used once. */
  joinToken: string | undefined;
  deployment: string;
  /** A value of DOCKER_HOST. */
  dockerHost: string;
  name: string;
  /** True if the name comes from a setting, false if it is the machine's host name. */
  isNameGiven: boolean;
  labels: string[];
  /** Address at which others reach the published ports of this host. */
  address: string;
  /** Address of the host on which containers publish their ports. Null: all addresses. */
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
}

/** Facts about the machine that the defaults come from. */
export interface Machine {
  hostname: string;
  /** Address of the interface of the default route. Undefined if no such interface exists. */
  routedAddress: string | undefined;
  /** All addresses of its interfaces, loopback included. */
  addresses: readonly string[];
  dockerHost: string;
}

export class ConfigError extends Error {
  override name = 'ConfigError';
}

/** A range has room for at least one large network of a user. */
const MAX_RANGE_BITS = 22;

const absolutePath = z.string().startsWith('/', 'must be an absolute path');
const list = z.string().transform((text) => words(text, ','));
/**
 * On the engine's predefined networks, containers do not find each other by name or are not isolated from the
 * host.
 */
const isUserDefined = (network: string): boolean => !['bridge', 'host', 'none', 'ingress'].includes(network);
const nameSchema = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9_.-]*$/,
    'must begin with a letter or digit, and consist of letters, digits, _ . -',
  );
const REGISTRY = /^(\[[0-9a-f:]+\]|[a-z0-9][a-z0-9.-]*)(:\d+)?$/;
const registryForm = 'must be a list of "public" and registries such as docker.io,registry.example:5000';

const MAX_URLS = 8;
const urlForm = `must be a URL like http://host:5001, or up to ${MAX_URLS} of them, comma-separated`;

const MIN_LOG_BYTES = 2 ** 20;

const settingsSchema = z.object({
  BERTH_URL: list
    .pipe(
      z
        .array(z.url({ protocol: /^https?$/, error: urlForm }))
        .min(1, urlForm)
        .max(MAX_URLS, urlForm),
    )
    .default(['http://127.0.0.1:5001']),
  BERTH_AGENT_INSECURE: z.enum(['on', 'off'], 'must be on or off').default('off'),
  BERTH_JOIN_TOKEN: z.string().optional(),
  BERTH_DEPLOYMENT_NAME: nameSchema.default('local'),
  DOCKER_HOST: z.string().optional(),
  BERTH_AGENT_NAME: nameSchema.max(128).optional(),
  BERTH_AGENT_LABELS: list.default([]),
  BERTH_AGENT_ADDRESS: z.string().optional(),
  BERTH_AGENT_BIND: z
    .union([z.ipv4(), z.ipv6()], 'must be an IP address of this host, or 0.0.0.0 or :: for all its addresses')
    .optional(),
  BERTH_AGENT_RESERVE: z
    .string()
    .transform((text, context): Reserve => {
      const reserve = parseReserve(text);
      if (reserve) return reserve;
      context.addIssue('must have a form like memory=512MiB,cores=0.5');
      return z.NEVER;
    })
    .default({ memoryBytes: null, cores: 0 }),
  BERTH_AGENT_VOLUME_ROOTS: list.pipe(z.array(absolutePath)).default([]),
  BERTH_AGENT_WORKSPACE_ROOT: absolutePath.optional(),
  BERTH_AGENT_NETWORK: nameSchema
    .refine(
      isUserDefined,
      'must be a network that was created, not a predefined one (bridge, host, none, ingress)',
    )
    .optional(),
  BERTH_AGENT_NETWORKS: list.default([]),
  BERTH_AGENT_RUN_AS: z.enum(['image', 'fs_uid'], 'must be image or fs_uid').default('image'),
  BERTH_AGENT_ETC_FILES: z
    .enum(['read-only', 'writable'], 'must be read-only or writable')
    .default('read-only'),
  BERTH_AGENT_CAPABILITIES: list
    .transform((names, context): string[] => {
      const unknown = names.filter((name) => capabilityOf(name) === undefined);
      if (unknown.length === 0) return [...new Set(names.flatMap((name) => capabilityOf(name) ?? []))];
      const remedy = 'name each one, for example NET_RAW,SYS_CHROOT';
      context.addIssue(`must be Linux capabilities, which ${unknown.join(', ')} is not: ${remedy}`);
      return z.NEVER;
    })
    .default([]),
  BERTH_AGENT_REGISTRIES: list
    .pipe(z.array(z.string().toLowerCase().regex(REGISTRY, registryForm)).min(1, registryForm))
    .default(['public']),
  BERTH_AGENT_SUBNETS: list
    .transform((texts, context): Subnet[] => {
      const ranges = texts.map(parseSubnet);
      const isValid = (range: Subnet | undefined) => range !== undefined && range.bits <= MAX_RANGE_BITS;
      if (ranges.length > 0 && ranges.every(isValid)) return ranges.filter((range) => range !== undefined);
      context.addIssue(
        `must be IPv4 ranges like 198.18.0.0/15, comma-separated, with prefixes of at most /${MAX_RANGE_BITS}`,
      );
      return z.NEVER;
    })
    // Reserved for measurements between networks (RFC 2544), so that hosts and their networks do not use it.
    .default([{ first: 0xc6120000, bits: 15 }]),
  BERTH_AGENT_FIREWALL: z.enum(['on', 'off'], 'must be on or off').default('on'),
  BERTH_AGENT_OVERLAY: z.enum(['on', 'off'], 'must be on or off').default('on'),
  BERTH_AGENT_LOG_DAYS: z.coerce.number('must be a number of days').positive('must be above 0').default(30),
  BERTH_AGENT_LOG_MAX: z
    .string()
    .default('1GiB')
    .transform((text, context): number => {
      const bytes = parseBytes(text);
      if (bytes !== undefined && bytes >= MIN_LOG_BYTES) return bytes;
      context.addIssue('must be a size of at least 1MiB, like 256MiB');
      return z.NEVER;
    }),
  BERTH_AGENT_KEEP_IMAGES: z.coerce
    .number('must be a number of days, or 0')
    .min(0, 'must be a number of days, or 0')
    .default(14),
  BERTH_AGENT_MIN_DISK: z
    .string()
    .default('1GiB')
    .transform((text, context): number => {
      const bytes = parseBytes(text);
      if (bytes !== undefined) return bytes;
      context.addIssue('must be a size like 2GiB, or 0');
      return z.NEVER;
    }),
  BERTH_AGENT_CRITICAL_DISK: z
    .string()
    .default('512MiB')
    .transform((text, context): number => {
      const bytes = parseBytes(text);
      if (bytes !== undefined) return bytes;
      context.addIssue('must be a size like 512MiB, or 0');
      return z.NEVER;
    }),
  BERTH_DATA_DIR: z.string().default('.berth'),
  BERTH_AGENT_DATA_DIR: z.string().optional(),
});

/** Reads the settings from `env`; an empty setting counts as unset. Throws ConfigError with every problem. */
export function readConfig(env: NodeJS.ProcessEnv, machine: Machine): Config {
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
  const result = settingsSchema.safeParse(given);
  if (!result.success) {
    const problems = result.error.issues.map((issue) => `${issue.path[0]?.toString()} ${issue.message}`);
    throw new ConfigError(`The agent's settings are invalid: ${[...new Set(problems)].join('; ')}.`);
  }
  const settings = result.data;
  const urls = settings.BERTH_URL.map((url) => new URL(url));
  const insecure = urls.find((url) => url.protocol === 'http:' && !isLoopback(url.hostname));
  if (insecure && settings.BERTH_AGENT_INSECURE === 'off') throw new ConfigError(insecureUrl(insecure));
  const dockerHost = settings.DOCKER_HOST ?? machine.dockerHost;
  return {
    urls,
    joinToken: settings.BERTH_JOIN_TOKEN,
    deployment: settings.BERTH_DEPLOYMENT_NAME,
    dockerHost,
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
    etcFiles: settings.BERTH_AGENT_ETC_FILES,
    registries: settings.BERTH_AGENT_REGISTRIES,
    subnets: settings.BERTH_AGENT_SUBNETS,
    firewall: settings.BERTH_AGENT_FIREWALL === 'on',
    overlay: settings.BERTH_AGENT_OVERLAY === 'on',
    logDays: settings.BERTH_AGENT_LOG_DAYS,
    logMaxBytes: settings.BERTH_AGENT_LOG_MAX,
    keepImagesDays: settings.BERTH_AGENT_KEEP_IMAGES,
    minDiskBytes: settings.BERTH_AGENT_MIN_DISK,
    criticalDiskBytes: Math.min(settings.BERTH_AGENT_CRITICAL_DISK, settings.BERTH_AGENT_MIN_DISK),
    dataDir: settings.BERTH_AGENT_DATA_DIR ?? `${settings.BERTH_DATA_DIR}/agent`,
  };
}

/**
 * Where clients reach published ports, and where the ports listen. By default the two are the same address
 * (P106). A name, or an address that a gateway translates, does not determine on which address to listen.
 */
function publishedAt(
  { BERTH_AGENT_ADDRESS: given, BERTH_AGENT_BIND: bind }: z.infer<typeof settingsSchema>,
  urls: readonly URL[],
  dockerHost: string,
  { routedAddress, addresses }: Machine,
): Pick<Config, 'address' | 'bind'> {
  // The engine of another machine has other addresses than this one.
  const isOwn = (address: string) =>
    socketOf(dockerHost) !== undefined && addresses.map(canonical).includes(canonical(address));
  const isAll = bind !== undefined && ['0.0.0.0', '[::]'].includes(canonical(bind));
  if (bind !== undefined && !isAll) {
    const address = given ?? bind;
    if (canonical(address) !== canonical(bind) && isOwn(address))
      throw new ConfigError(
        `The agent's settings are invalid: BERTH_AGENT_ADDRESS ${address} is an address of this machine on which no published port listens, because BERTH_AGENT_BIND is ${bind}. Set both to the same address, or BERTH_AGENT_BIND to 0.0.0.0.`,
      );
    return { address, bind };
  }
  const routed = urls.every(({ hostname }) => isLoopback(hostname)) ? undefined : routedAddress;
  const address = given ?? routed ?? '127.0.0.1';
  return { address, bind: !isAll && isOwn(address) ? address : null };
}

/** One text for all spellings of an IPv6 address. */
const canonical = (address: string): string =>
  isIPv6(address) ? new URL(`http://[${address.replace(/%.*/, '')}]`).hostname : address;

const insecureUrl = (url: URL): string =>
  `BERTH_URL=${url.href} is on another machine and not encrypted: anyone on the path could give this host orders. ` +
  'Set it to the https:// address of the control plane, or set BERTH_AGENT_INSECURE=on if you trust the network.';

function words(text: string, separator: string): string[] {
  return text
    .split(separator)
    .map((word) => word.trim())
    .filter((word) => word !== '');
}

const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(host);
