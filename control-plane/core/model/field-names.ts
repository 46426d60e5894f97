/** Names of fields in rows and JSON. */

export type SnakeCase<Name extends string> = Name extends `${infer Head}${infer Tail}`
  ? `${Head extends Lowercase<Head> ? Head : `_${Lowercase<Head>}`}${SnakeCase<Tail>}`
  : Name;

/** `canExec` as `can_exec`. */
export const snakeCase = <Name extends string>(name: Name): SnakeCase<Name> =>
  name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`) as SnakeCase<Name>;

/** The fields as `make` makes them, with their names in snake case. */
export const snakeFields = <Field extends string, Value>(
  fields: readonly Field[],
  make: (field: Field) => Value,
): Record<SnakeCase<Field>, Value> =>
  Object.fromEntries(fields.map((field) => [snakeCase(field), make(field)])) as Record<
    SnakeCase<Field>,
    Value
  >;
