/**
 * JSON Schema (draft 2020-12) of application descriptions, for editors and other programs (API-15). Its
 * description names the checks across fields, which it cannot express. Pure.
 */
import * as z from 'zod';
import { APPLICATION_FORMAT_VERSION, applicationSchema } from './application-schema.ts';

export type JsonSchema = z.core.JSONSchema.BaseSchema;

/**
 * Checks of application-checks.ts and of texts that JSON Schema cannot express, as sentences without full
 * stop.
 */
export const CHECKS_ACROSS_FIELDS: readonly string[] = [
  'At least one service has "monitor": true',
  'Names of services are unique, and so are the names of all instances: 11 instances of "web" include "web10", which is also an instance of "web1"',
  'An application has at most 1000 instances in all',
  'The services of an application have at most 10,000 variables, volumes, ports and labels in all',
  'essential_count is at most total_count, and a "max" is at least its "min"',
  'Names of volumes are unique within a service',
  'A health check has exactly one of "http", "tcp", "command" and "image"; its interval is at least 5 with "command" and "image"',
  'No text contains a NUL character or half a surrogate pair',
  'A variable with its name, and each word of the command, have at most 131,071 bytes in UTF-8, because Linux starts no program with more',
  'Quotes of a command are closed, and its last character is not a lone backslash',
  'Every reference in a value or command, such as {user_name}, is to a known variable',
];

export function applicationJsonSchema(): JsonSchema {
  const { $defs = {} } = z.toJSONSchema(applicationSchema, {
    io: 'input',
    override: dropSafeBounds,
  });
  const { Application, ...others } = $defs as Record<string, JsonSchema>;
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $id: `urn:berth:application-${APPLICATION_FORMAT_VERSION}`,
    title: `Berth application description, format ${APPLICATION_FORMAT_VERSION}`,
    ...Application,
    description: `Describes the services of an application. Berth also checks across fields: ${CHECKS_ACROSS_FIELDS.join('. ')}.`,
    $defs: others,
  };
}

/** Drops the bounds that zod adds to every integer for the range of safe integers. */
export function dropSafeBounds({ jsonSchema }: { jsonSchema: { minimum?: number; maximum?: number } }): void {
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
}
