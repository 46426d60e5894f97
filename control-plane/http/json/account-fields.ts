/** Fields of users, roles and quotas, as schemas for bodies and queries. */
import * as z from 'zod';

const printable = (maxLength: number) =>
  z
    .string()
    .max(maxLength)
    .regex(/^[^\p{C}\p{Zl}\p{Zp}]*$/u, 'must be one line of printable characters');

export const name = printable(64)
  .min(1)
  .regex(/^\S(.*\S)?$/u, 'must not begin or end with a space')
  .meta({ examples: ['default'] });

/** Basic credentials end the name at the first colon, and workspaces are folders with this name. */
export const username = name
  .regex(/^[^:/\\]*$/, 'must not contain : / or \\')
  .refine((text) => text !== '.' && text !== '..', 'must not be "." or ".."')
  .meta({ examples: ['ann'] });

export const email = printable(254).meta({ examples: ['ann@example.org'] });
export const id = z.int().positive();
export const count = z.int().nonnegative();
/** Cores of a quota, with two decimals at most. */
export const cores = z
  .number()
  .nonnegative()
  .max(Number.MAX_SAFE_INTEGER)
  .refine((value) => Number(value.toFixed(2)) === value, 'must have two decimals at most');
/** A user id in file systems, never root's. */
export const fsUid = z
  .int()
  .min(1)
  .max(2 ** 31 - 1);

/** An integer in a query. */
export const integerText = z
  .string()
  .regex(/^-?\d{1,15}$/, 'must be an integer')
  .transform(Number)
  .pipe(z.int());

/** Accepts True and False, which clients in Python send. */
export const booleanText = z
  .string()
  .regex(/^(true|false|1|0)$/i, 'must be true or false')
  .transform((text) => /^(true|1)$/i.test(text))
  .pipe(z.boolean());

export const nameFilter = z.strictObject({ name: z.string().optional().describe('The whole name') });

type Camel<Name extends string> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<Camel<Tail>>}`
  : Name;
type CamelKeys<Fields> = { [Name in keyof Fields as Camel<Name & string>]: Fields[Name] };

/** Renames the fields from snake_case to camelCase. */
export const camelKeys = <Fields extends object>(fields: Fields): CamelKeys<Fields> =>
  Object.fromEntries(
    Object.entries(fields).map(([key, value]) => [
      key.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
      value,
    ]),
  ) as CamelKeys<Fields>;
