/** The forms and defaults of the agent's settings. config.ts makes the configuration of them. */
import * as z from 'zod';
import { releaseKeySchema } from '../shared/protocol/release.ts';
import { defaultLimits, limitsSetting } from '../shared/settings/limits.ts';
import { capabilityOf } from './engine/capabilities.ts';
import { parseSubnet, type Subnet } from './engine/networks/subnets.ts';
import { parseReserve, type Reserve } from './reserve.ts';

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

/** What an agent does without, if its operator wants it so. */
const withouts = ['encryption', 'firewall', 'overlay', 'read-only-etc', 'updates'] as const;
type Without = (typeof withouts)[number];
const isWithout = (word: string): word is Without => withouts.some((one) => one === word);

const MAX_URLS = 8;
const urlForm = `must be a URL like http://host:5001, or up to ${MAX_URLS} of them, comma-separated`;

export const settingsSchema = z.object({
  BERTH_URL: list
    .pipe(
      z
        .array(z.url({ protocol: /^https?$/, error: urlForm }))
        .min(1, urlForm)
        .max(MAX_URLS, urlForm),
    )
    .default(['http://127.0.0.1:5001']),
  BERTH_JOIN_TOKEN: z.string().optional(),
  BERTH_DEPLOYMENT_NAME: nameSchema.default('local'),
  DOCKER_HOST: z.string().optional(),
  BERTH_AGENT_ENGINE: z.string().optional(),
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
  BERTH_AGENT_SECRETS_DIR: absolutePath.default('/run/berth'),
  BERTH_AGENT_NETWORK: nameSchema
    .refine(
      isUserDefined,
      'must be a network that was created, not a predefined one (bridge, host, none, ingress)',
    )
    .optional(),
  BERTH_AGENT_NETWORKS: list.default([]),
  BERTH_AGENT_RUN_AS: z.enum(['image', 'fs_uid'], 'must be image or fs_uid').default('image'),
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
  BERTH_DATA_DIR: z.string().default('.berth'),
  BERTH_AGENT_DATA_DIR: z.string().optional(),
  BERTH_AGENT_RELEASE_KEY: releaseKeySchema.optional(),
  BERTH_AGENT_WITHOUT: list
    .transform((words, context): Without[] => {
      const unknown = words.filter((word) => !isWithout(word));
      if (unknown.length === 0) return words.filter(isWithout);
      context.addIssue(`must be a list of ${withouts.join(', ')}, which ${unknown.join(', ')} is not`);
      return z.NEVER;
    })
    .default([]),
  BERTH_LIMITS: limitsSetting(defaultLimits),
});
export type Settings = z.infer<typeof settingsSchema>;

function words(text: string, separator: string): string[] {
  return text
    .split(separator)
    .map((word) => word.trim())
    .filter((word) => word !== '');
}
