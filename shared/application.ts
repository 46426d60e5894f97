/**
 * Validates an application description: each field by the schema (application-schema.ts), then across fields
 * (application-checks.ts). Pure; expand.ts turns a valid description into services.
 */
import type * as z from 'zod';
import { isRecord, semanticProblems } from './application-checks.ts';
import {
  type Application,
  applicationSchema,
  MAX_ENTRIES,
  MAX_SERVICES,
  MAX_VARIABLES,
  type Problem,
} from './application-schema.ts';
import { schemaMessage } from './application-words.ts';

export type Validation = { valid: true; application: Application } | { valid: false; problems: Problem[] };

/** Returns the typed application, or every problem at once: those of single fields first. */
export function validateApplication(input: unknown): Validation {
  const bounded = cutToLimits(input);
  const parsed = applicationSchema.safeParse(bounded, { error: schemaMessage });
  const problems = [...(parsed.error?.issues.flatMap(schemaProblems) ?? []), ...semanticProblems(bounded)];
  if (parsed.success && problems.length === 0) return { valid: true, application: parsed.data };
  return { valid: false, problems };
}

/**
 * Cuts lists that are too long to one entry past their limit: enough for the schema to refuse them (API-13).
 */
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

function schemaProblems(issue: z.core.$ZodIssue): Problem[] {
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
