/** Parses a shop's manifest, version 1, which is Zoe's format. Each part reports its own problems. Pure. */
import * as z from 'zod';
import { schemaMessage } from '../../../shared/application-words.ts';
import { type DeclaredParameter, parameterKinds } from '../../core/shop/shop-parameters.ts';
import { PLAIN_NAME } from './shop-files.ts';

const MANIFEST_VERSION = 1;

const fileName = z.string().regex(PLAIN_NAME, 'must be the plain name of a file in the same folder');
const number = z.number().nullish().default(null);

const parameterSchema = z.object({
  kind: z.enum(parameterKinds),
  name: z.string().min(1).max(256),
  readable_name: z.string().max(256).nullish(),
  description: z.string().max(2000).nullish(),
  type: z.string().nullish(),
  default: z.union([z.string().max(20_000), z.number(), z.boolean()]).nullish(),
  min: number,
  max: number,
  step: number,
});

const applicationSchema = z.object({
  category: z.string().min(1).max(64),
  name: z.string().min(1).max(128),
  description: fileName,
  readable_descr: fileName,
  parameters: z.array(z.unknown()).max(100).default([]),
  disabled_for: z.array(z.string()).max(1000).default([]),
  logo: fileName.nullish().default(null),
});

/** Applications are parsed one by one, so that a wrong one does not hide the others. */
const manifestSchema = z.object({
  version: z.literal(MANIFEST_VERSION),
  zapps: z.array(z.unknown()).max(100),
});

export interface DeclaredApplication {
  category: string;
  name: string;
  /** Description, readme and logo are names of files. */
  description: string;
  readme: string;
  logo: string | null;
  disabledFor: readonly string[];
  /** In the order of the manifest. */
  parameters: readonly (DeclaredParameter | { name: string; problem: string })[];
}

/**
 * Parses the applications in their order. One that cannot be parsed has its problem, and its name if it has
 * one.
 */
export function readManifest(
  text: string,
): { applications: (DeclaredApplication | { name: string; problem: string })[] } | { problem: string } {
  const json = parseJson(text);
  if ('problem' in json) return json;
  const manifest = manifestSchema.safeParse(json.value, { error: schemaMessage });
  if (!manifest.success) return { problem: issuesOf(manifest.error) };
  return {
    applications: manifest.data.zapps.map((zapp, index) => {
      const read = applicationSchema.safeParse(zapp, { error: schemaMessage });
      if (!read.success) return { name: nameIn(zapp) ?? `zapps[${index}]`, problem: issuesOf(read.error) };
      const { readable_descr: readme, disabled_for: disabledFor, parameters, ...rest } = read.data;
      return { ...rest, readme, disabledFor, parameters: parameters.map(readParameter) };
    }),
  };
}

export function parseJson(text: string): { value: unknown } | { problem: string } {
  try {
    return { value: JSON.parse(text) };
  } catch (error) {
    return { problem: `is not JSON: ${error instanceof Error ? error.message : String(error)}` };
  }
}

function readParameter(input: unknown, index: number): DeclaredParameter | { name: string; problem: string } {
  const read = parameterSchema.safeParse(input, { error: schemaMessage });
  if (!read.success) return { name: nameIn(input) ?? `parameters[${index}]`, problem: issuesOf(read.error) };
  const { readable_name: readableName, description, type, default: defaultValue, ...rest } = read.data;
  return {
    ...rest,
    readableName: readableName || rest.name,
    description: description ?? '',
    // Every other type counts as text, as in Zoe.
    type: type === 'int' || type === 'float' ? type : 'string',
    default: defaultValue === null || defaultValue === undefined ? null : String(defaultValue),
  };
}

function nameIn(input: unknown): string | undefined {
  const named = z.object({ name: z.string().min(1).max(256) }).safeParse(input);
  return named.data?.name;
}

const issuesOf = (error: z.ZodError): string =>
  error.issues.map(({ path, message }) => `${path.join('.')} ${message}`.trimStart()).join('; ');
