/**
 * Owns the application description, format 3: its shape, and how one is checked (application-checks.ts has what spans
 * several fields). Pure; never expands, places or runs anything (expand.ts turns a description into services).
 */
import * as z from 'zod';
import { isRecord, MAX_INSTANCES, semanticProblems } from './application-checks.ts';
import { shapeMessage } from './application-words.ts';

export const APPLICATION_FORMAT_VERSION = 3;
const MAX_SERVICES = 100;
/** Entries of a list within a service: far beyond any use, and what keeps the check of a hostile description cheap. */
const MAX_ENTRIES = 256;
const MAX_VARIABLES = 1000;

const text = z
  .string()
  .refine((value) => !value.includes('\0'), 'must not contain a NUL character')
  .refine((value) => value.isWellFormed(), 'must not contain half a surrogate pair');
const bytes = z.int().nonnegative();
const DNS_LABEL = /^[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?$/;

const portSchema = z.strictObject({
  name: text.min(1).max(128),
  port_number: z.int().min(1).max(65535),
  protocol: z.enum(['tcp', 'udp']),
  url_template: text,
  proxy: z.boolean().optional(),
});

const volumeSchema = z.strictObject({
  name: z.string().regex(/^[a-zA-Z0-9][a-zA-Z0-9._-]*$/, 'must be letters, digits, ".", "_" or "-"'),
  path: text.refine((path) => path.startsWith('/'), 'must be an absolute path'),
  read_only: z.boolean(),
});

export const serviceSchema = z.strictObject({
  name: z.string().min(3).max(16).regex(DNS_LABEL, 'must be letters, digits and inner "-" (a DNS label)'),
  image: text.regex(/^\S+$/, 'must be an image name without spaces'),
  monitor: z.boolean(),
  total_count: z.int().min(1).max(MAX_INSTANCES),
  essential_count: z.int().nonnegative(),
  startup_order: z.int(),
  resources: z.strictObject({
    memory: z.strictObject({ min: bytes.nullable(), max: bytes.nullable() }),
    cores: z.strictObject({
      min: z.number().nonnegative().nullable(),
      max: z.number().nonnegative().nullable(),
    }),
    shm: bytes.nullable().optional(),
  }),
  environment: z
    .array(z.tuple([text.regex(/^[^=]+$/, 'must be a name without "="'), text]))
    .max(MAX_VARIABLES),
  volumes: z.array(volumeSchema).max(MAX_ENTRIES),
  ports: z.array(portSchema).max(MAX_ENTRIES),
  command: text.nullable(),
  work_dir: text.nullable().optional(),
  labels: z.array(text.min(1)).max(MAX_ENTRIES).optional(),
  network: text.nullable().optional(),
  replicas: z.int().nonnegative().optional(),
});
serviceSchema.register(z.globalRegistry, { id: 'ServiceDescription' });

export const applicationSchema = z
  .strictObject({
    name: z
      .string()
      .min(3)
      .max(128)
      .regex(/^[@a-zA-Z0-9-]+$/, 'must be letters, digits, "@" and "-"'),
    version: z.literal(APPLICATION_FORMAT_VERSION),
    will_end: z.boolean(),
    size: z.int().nonnegative(),
    services: z.array(serviceSchema).min(1).max(MAX_SERVICES),
  })
  .meta({ id: 'Application', description: 'Application description, format 3' });

export type Application = z.infer<typeof applicationSchema>;
export type ServiceDescription = z.infer<typeof serviceSchema>;

/** One thing wrong with a description: where (RFC 6901 pointer, '' is the whole document) and what. */
export interface Problem {
  pointer: string;
  message: string;
}

export type Validation = { valid: true; application: Application } | { valid: false; problems: Problem[] };

/**
 * Checks a description and returns every problem at once, or the typed application. Problems of shape come first, then
 * those between fields.
 */
export function validateApplication(input: unknown): Validation {
  const bounded = cutToLimits(input);
  const shape = applicationSchema.safeParse(bounded, { error: shapeMessage });
  const problems = [...(shape.error?.issues.flatMap(shapeProblems) ?? []), ...semanticProblems(bounded)];
  if (shape.success && problems.length === 0) return { valid: true, application: shape.data };
  return { valid: false, problems };
}

/** Lists that are too long end one entry past their limit: enough for the schema to refuse them. */
function cutToLimits(input: unknown): unknown {
  if (!isRecord(input) || !Array.isArray(input.services)) return input;
  return { ...input, services: input.services.slice(0, MAX_SERVICES + 1).map(cutService) };
}

function cutService(service: unknown): unknown {
  if (!isRecord(service)) return service;
  const cut = (key: string, limit: number) =>
    Array.isArray(service[key]) && { [key]: service[key].slice(0, limit + 1) };
  return {
    ...service,
    ...cut('environment', MAX_VARIABLES),
    ...cut('volumes', MAX_ENTRIES),
    ...cut('ports', MAX_ENTRIES),
    ...cut('labels', MAX_ENTRIES),
  };
}

function shapeProblems(issue: z.core.$ZodIssue): Problem[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({
      pointer: pointerTo(...issue.path, key),
      message: 'is not a known key',
    }));
  }
  return [{ pointer: pointerTo(...issue.path), message: issue.message }];
}

function pointerTo(...path: PropertyKey[]): string {
  return path.map((part) => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}
