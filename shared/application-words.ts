/** Owns what people are told of a description, a body or settings whose shape is wrong, where the schema has no words of its own. Pure. */
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

/** Follows the path of what is wrong: `... is missing`. Undefined where zod's own words will do. */
export function schemaMessage(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code === 'invalid_type') {
    // Of which anything may be.
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
  return undefined;
}

function sized(origin: string, bound: string, size: number | bigint): string {
  if (origin === 'string') return `must have ${bound} ${size} ${size === 1 ? 'character' : 'characters'}`;
  if (origin === 'array') return `must have ${bound} ${size} ${size === 1 ? 'entry' : 'entries'}`;
  return `must be ${bound} ${size}`;
}
