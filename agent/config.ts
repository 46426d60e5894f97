/** Reads the agent's settings, with their defaults, and reports all invalid settings at once. */
import * as z from 'zod';
import { parseBytes, parseReserve, type Reserve } from './reserve.ts';

export interface Config {
  /** Address of the control plane, `http(s)://`. */
  url: URL;
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
  /** Subtracted from the capacity that the host offers. */
  reserve: Reserve;
  /** Host folders that volumes must lie beneath. If empty, no volumes are allowed. */
  volumeRoots: string[];
  workspaceRoot: string | null;
  /**
   * An existing network for the deployment's containers. Null: the agent creates a network for the
   * deployment.
   */
  network: string | null;
  /** Networks that a description may name, besides the deployment's own. */
  networks: string[];
  logDays: number;
  /**
   * Minimum of free disk space for containers, images and logs; below it the host takes no new services. 0:
   * no minimum.
   */
  minDiskBytes: number;
  dataDir: string;
}

/** Facts about the machine that the defaults come from. */
export interface Machine {
  hostname: string;
  /** Address of the interface of the default route. Undefined if no such interface exists. */
  routedAddress: string | undefined;
  dockerHost: string;
}

export class ConfigError extends Error {
  override name = 'ConfigError';
}

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

const settingsSchema = z.object({
  BERTH_URL: z
    .url({ protocol: /^https?$/, error: 'must be a URL like http://host:5001' })
    .default('http://127.0.0.1:5001'),
  BERTH_JOIN_TOKEN: z.string().optional(),
  BERTH_DEPLOYMENT_NAME: nameSchema.default('local'),
  DOCKER_HOST: z.string().optional(),
  BERTH_AGENT_NAME: nameSchema.max(128).optional(),
  BERTH_AGENT_LABELS: list.default([]),
  BERTH_AGENT_ADDRESS: z.string().optional(),
  BERTH_AGENT_RESERVE: z
    .string()
    .transform((text, context): Reserve => {
      const reserve = parseReserve(text);
      if (reserve) return reserve;
      context.addIssue('must have a form like memory=512MiB,cores=0.5');
      return z.NEVER;
    })
    .default({ memoryBytes: 0, cores: 0 }),
  BERTH_AGENT_VOLUME_ROOTS: list.pipe(z.array(absolutePath)).default([]),
  BERTH_AGENT_WORKSPACE_ROOT: absolutePath.optional(),
  BERTH_AGENT_NETWORK: nameSchema
    .refine(
      isUserDefined,
      'must be a network that was created, not a predefined one (bridge, host, none, ingress)',
    )
    .optional(),
  BERTH_AGENT_NETWORKS: list.default([]),
  BERTH_AGENT_LOG_DAYS: z.coerce.number('must be a number of days').positive('must be above 0').default(30),
  BERTH_AGENT_MIN_DISK: z
    .string()
    .default('1GiB')
    .transform((text, context): number => {
      const bytes = parseBytes(text);
      if (bytes !== undefined) return bytes;
      context.addIssue('must be a size like 2GiB, or 0');
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
  const url = new URL(settings.BERTH_URL);
  const routed = isLoopback(url.hostname) ? undefined : machine.routedAddress;
  return {
    url,
    joinToken: settings.BERTH_JOIN_TOKEN,
    deployment: settings.BERTH_DEPLOYMENT_NAME,
    dockerHost: settings.DOCKER_HOST ?? machine.dockerHost,
    name: settings.BERTH_AGENT_NAME ?? machine.hostname,
    isNameGiven: settings.BERTH_AGENT_NAME !== undefined,
    labels: settings.BERTH_AGENT_LABELS,
    address: settings.BERTH_AGENT_ADDRESS ?? routed ?? '127.0.0.1',
    reserve: settings.BERTH_AGENT_RESERVE,
    volumeRoots: settings.BERTH_AGENT_VOLUME_ROOTS,
    workspaceRoot: settings.BERTH_AGENT_WORKSPACE_ROOT ?? null,
    network: settings.BERTH_AGENT_NETWORK ?? null,
    networks: settings.BERTH_AGENT_NETWORKS,
    logDays: settings.BERTH_AGENT_LOG_DAYS,
    minDiskBytes: settings.BERTH_AGENT_MIN_DISK,
    dataDir: settings.BERTH_AGENT_DATA_DIR ?? `${settings.BERTH_DATA_DIR}/agent`,
  };
}

function words(text: string, separator: string): string[] {
  return text
    .split(separator)
    .map((word) => word.trim())
    .filter((word) => word !== '');
}

const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(host);
