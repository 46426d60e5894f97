/**
 * Columns of an entity beside its fields: what inserts, updates and reads of its rows have in common is
 * written once.
 */
import { snakeCase } from '../../core/model/field-names.ts';
import type { Argument, Row, Value } from './db.ts';

/** How a field is kept in a column. */
export interface Kind<T> {
  read: (value: Value | undefined) => T;
  write: (field: T) => Argument;
}

const asIs = <T extends Argument>(value: T): T => value;

export const text: Kind<string> = { read: String, write: asIs };
export const number: Kind<number> = { read: Number, write: asIs };
export const flag: Kind<boolean> = { read: (value) => value === 1, write: Number };
/** One of a set of names, which only this program writes. */
export const oneOf = <T extends string>(): Kind<T> => ({ read: (value) => value as T, write: asIs });
/** JSON that only this program writes. */
export const json = <T>(): Kind<T> => ({
  read: (value) => JSON.parse(String(value)),
  write: (field) => JSON.stringify(field),
});
export const orNull = <T>({ read, write }: Kind<T>): Kind<T | null> => ({
  read: (value) => (value == null ? null : read(value)),
  write: (field) => (field === null ? null : write(field)),
});

/** For columns that are read by themselves. */
export const numberOrNull = orNull(number).read;
export const textOrNull = orNull(text).read;

export class Columns<T extends object> {
  /** `a, b`. */
  readonly names: string;
  /** `?, ?`. */
  readonly marks: string;
  /** `a = ?, b = ?`. */
  readonly updated: string;
  /** `a = COALESCE(?, a), b = COALESCE(?, b)`: keeps the columns whose field is not given. */
  readonly changed: string;
  /** `a = COALESCE(?, a) AND b = COALESCE(?, b)`: any value, where the field is not given. */
  readonly matched: string;
  readonly #columns: readonly [keyof T, string, Kind<T[keyof T]>][];

  /** Columns have the names of their fields in snake case, unless `names` has another. */
  constructor(
    kinds: { [Field in keyof T]: Kind<T[Field]> },
    names: Partial<Record<NoInfer<keyof T>, string>> = {},
  ) {
    this.#columns = (Object.keys(kinds) as (keyof T & string)[]).map((field) => [
      field,
      names[field] ?? snakeCase(field),
      kinds[field] as Kind<T[keyof T]>,
    ]);
    const each = (make: (name: string) => string, between = ', ') =>
      this.#columns.map(([, name]) => make(name)).join(between);
    this.names = each((name) => name);
    this.marks = each(() => '?');
    this.updated = each((name) => `${name} = ?`);
    this.changed = each((name) => `${name} = COALESCE(?, ${name})`);
    this.matched = each((name) => `${name} = COALESCE(?, ${name})`, ' AND ');
  }

  read(row: Row): T {
    // A list of entries would take more than twice the time, and each request reads an account.
    const entity: Partial<T> = {};
    for (const [field, name, kind] of this.#columns) entity[field] = kind.read(row[name] ?? null);
    return entity as T;
  }

  /** The arguments of `marks` and `updated`. */
  values(entity: T): Argument[] {
    return this.#columns.map(([field, , { write }]) => write(entity[field]));
  }

  /** The arguments of `changed` and `matched`: null for a field that is not given. */
  given(changes: { readonly [Field in keyof T]?: T[Field] | undefined }): Argument[] {
    return this.#columns.map(([field, , { write }]) => {
      const value = changes[field];
      return value === undefined ? null : write(value as T[keyof T]);
    });
  }
}
