/**
 * Validates an application description: each field by the schema (application-schema.ts), then across those
 * fields that passed (application-checks.ts). Pure; expand.ts turns a valid description into services.
 */
import type * as z from 'zod';
import { type CheckedService, isRecord, type Loose, semanticProblems } from './application-checks.ts';
import { Findings, type Problem } from './application-problems.ts';
import {
  type Application,
  applicationFrame,
  MAX_ALL_ENTRIES,
  type ServiceDescription,
  serviceFrame,
  serviceLists,
} from './application-schema.ts';
import { schemaMessage } from './application-words.ts';
import { finish, type Steps } from './steps.ts';

/** `more` counts further problems that were found; there may be others. */
export type Validation =
  | { valid: true; application: Application }
  | { valid: false; problems: Problem[]; more: number };

/** Returns the typed application, or its problems at once: those of single fields first. */
export const validateApplication = (input: unknown): Validation => finish(validationSteps(input));

/** The same in steps, for large descriptions. It ends early if there are more problems than are reported. */
export function* validationSteps(input: unknown): Steps<Validation> {
  const found = new Findings();
  const frame = checkFields(applicationFrame, input, [], found);
  const services: CheckedService[] = [];
  const given = frame.services ?? [];
  for (let at = 0; at < given.length && !found.isFull; at++) {
    const service = given[at];
    const fields = checkFields(serviceFrame, service, ['services', at], found);
    if (isRecord(service)) services.push({ at, fields, environment: [], volumes: [], ports: [], labels: [] });
    yield 10;
  }
  if (!hasTooManyEntries(services, found)) for (const service of services) yield* checkLists(service, found);
  if (!found.isFull) yield* semanticProblems(services, found);
  const { problems, more } = found;
  if (problems.length > 0) return { valid: false, problems, more };
  return { valid: true, application: { ...frame, services: services.map(described) } as Application };
}

/** The fields of `input` that pass by themselves. Reports the others, and unknown keys. */
function checkFields<T extends z.ZodObject>(
  schema: T,
  input: unknown,
  path: readonly PropertyKey[],
  found: Findings,
): Partial<z.output<T>> {
  const known = isRecord(input) ? knownFields(schema, input) : input;
  const result = schema.safeParse(known, { error: schemaMessage });
  if (!result.success) found.addIssues(path, result.error.issues);
  if (!isRecord(input)) return {};
  if (known !== input) {
    const unknown = Object.keys(input).filter((key) => !Object.hasOwn(schema.shape, key));
    found.addUnknownKeys(path, unknown);
  }
  if (result.success) return result.data;
  const failed = new Set(result.error.issues.map((issue) => issue.path[0]));
  const passed = Object.entries(known as Loose).filter(([key]) => !failed.has(key));
  return Object.fromEntries(passed) as Partial<z.output<T>>;
}

/**
 * Lists and objects that are too long keep some entries past their limit: enough for the schema to refuse
 * them (API-13). Unknown fields are left out, because an object may have 100,000 of them. The input itself,
 * if it has neither.
 */
function knownFields({ shape }: z.ZodObject, input: Loose): Loose {
  const isWhole = (key: string) => Object.hasOwn(shape, key) && shortened(input[key]) === input[key];
  if (Object.keys(input).every(isWhole)) return input;
  const names = Object.keys(shape).filter((name) => Object.hasOwn(input, name));
  return Object.fromEntries(names.map((name) => [name, shortened(input[name])]));
}

const MAX_LIST = 1000;
/** More than any object within a field may have. */
const MAX_KEYS = 100;

/** The value, or a copy of its beginning. */
function shortened(value: unknown): unknown {
  if (Array.isArray(value)) return value.length > MAX_LIST ? value.slice(0, MAX_LIST + 1) : value;
  if (!isRecord(value)) return value;
  const keys = Object.keys(value);
  if (keys.length <= MAX_KEYS) return value;
  return Object.fromEntries(keys.slice(0, MAX_KEYS).map((key) => [key, value[key]]));
}

type ListName = keyof typeof serviceLists;
const listNames = Object.keys(serviceLists) as ListName[];

/** Reports too many entries in all. They are then not checked one by one. */
function hasTooManyEntries(services: readonly CheckedService[], found: Findings): boolean {
  let total = 0;
  for (const { fields } of services) for (const name of listNames) total += fields[name]?.length ?? 0;
  if (total <= MAX_ALL_ENTRIES) return false;
  const problem = `has ${total} variables, volumes, ports and labels in all; the limit is ${MAX_ALL_ENTRIES}`;
  found.add(['services'], problem);
  return true;
}

/** Entries that are checked in one step. */
const STEP_ENTRIES = 200;

/** Checks the entries of the lists that have the right length; an entry that fails is undefined. */
function* checkLists(service: CheckedService, found: Findings): Steps<void> {
  for (const name of listNames) {
    const schema: z.ZodType = serviceLists[name];
    const all: readonly unknown[] = service.fields[name] ?? [];
    const checked: unknown[] = service[name];
    for (let start = 0; start < all.length && !found.isFull; start += STEP_ENTRIES) {
      const entries = all.slice(start, start + STEP_ENTRIES);
      checked.push(...checkEntries(schema, entries, ['services', service.at, name], start, found));
      yield entries.length;
    }
  }
}

function checkEntries(
  schema: z.ZodType,
  entries: readonly unknown[],
  path: readonly PropertyKey[],
  start: number,
  found: Findings,
): readonly unknown[] {
  const result = schema.safeParse(entries, { error: schemaMessage });
  if (result.success) return result.data as unknown[];
  const { issues } = result.error;
  found.addIssues(
    path,
    issues.map((issue) => ({ ...issue, path: [start + Number(issue.path[0]), ...issue.path.slice(1)] })),
  );
  const failed = new Set(issues.map((issue) => issue.path[0]));
  return entries.map((entry, at) => (failed.has(at) ? undefined : entry));
}

/** Only for a service without problems. */
function described({ fields, environment, volumes, ports, labels }: CheckedService): ServiceDescription {
  const service = { ...fields, environment, volumes, ports, ...(fields.labels && { labels }) };
  return service as ServiceDescription;
}
