/** Messages about input that does not match a schema: descriptions, bodies and settings. Pure. */
import type * as z from 'zod';

const NOUNS: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  tuple: 'a list',
  object: 'an object',
};

/**
 * The message follows the path of the value: `... is missing`. Undefined if zod's own message is good enough.
 */
export function schemaMessage(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code === 'invalid_type') {
    // Any value is allowed here.
    if (issue.expected === 'nonoptional') return 'is missing';
    const wanted = NOUNS[issue.expected] ?? issue.expected;
    return issue.input === undefined ? `is missing: it must be ${wanted}` : `must be ${wanted}`;
  }
  if (issue.code === 'invalid_value') {
    const allowed = issue.values.map((value) => JSON.stringify(value)).join(' or ');
    return issue.input === undefined ? `is missing: it must be ${allowed}` : `must be ${allowed}`;
  }
  if (issue.code === 'too_small') return sized(issue.origin, 'at least', issue.minimum);
  if (issue.code === 'too_big') return sized(issue.origin, 'at most', issue.maximum);
  // The names stand elsewhere: zod's own message would repeat every one of them.
  if (issue.code === 'unrecognized_keys') return 'has unknown keys';
  return undefined;
}

function sized(origin: string, bound: string, size: number | bigint): string {
  if (origin === 'string') return `must have ${bound} ${size} ${size === 1 ? 'character' : 'characters'}`;
  if (origin === 'array') return `must have ${bound} ${size} ${size === 1 ? 'entry' : 'entries'}`;
  return `must be ${bound} ${size}`;
}
