/** The fields of settings that are JSON objects. Pure. */
import { mostLike } from './similar.ts';

/** The JSON object that the text is. Undefined if it is none. */
export function objectIn(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** A problem for each key that is not one of `names`, with the name that was probably meant. */
export function unknownNames(given: object, names: readonly string[], kind: string): string[] {
  return Object.keys(given)
    .filter((name) => !names.includes(name))
    .map((name) => {
      const like = mostLike(name, names);
      return `${JSON.stringify(name)} is not a ${kind}${like === undefined ? '' : `; did you mean "${like}"?`}`;
    });
}
