/** Translates Compose files of tests, with the files and the environment that each test has. */

import { ComposeError } from '../../../../cli/compose/remarks.ts';
import { translate } from '../../../../cli/compose/translate.ts';
import type { ServiceDescription } from '../../../../shared/application-schema.ts';

export const FOLDER = '/srv/shop';

export interface Around {
  env?: Record<string, string>;
  /** Texts of files by their absolute paths. */
  files?: Record<string, string>;
}

export const translated = (text: string, { env = {}, files = {} }: Around = {}) =>
  translate(text, { folder: FOLDER, environment: (name) => env[name], read: (path) => files[path] });

/** Left out fields and notes: `line:column path`. */
export function remarksOf(text: string, around: Around = {}): { leftOut: string[]; notes: string[] } {
  const { leftOut, notes } = translated(text, around);
  const placeOf = ({ line, column, path }: { line: number; column: number; path: string }) =>
    `${line}:${column} ${path}`;
  return { leftOut: leftOut.map(placeOf), notes: notes.map(placeOf) };
}

/** The problems of a file that can't be translated: `line:column path message`. */
export function problemsOf(text: string, around: Around = {}): string[] {
  try {
    translated(text, around);
  } catch (error) {
    if (!(error instanceof ComposeError)) throw error;
    return error.problems.map(({ line, column, path, message }) => `${line}:${column} ${path} ${message}`);
  }
  return [];
}

/** The only service of a file whose service `main` has these fields. */
export const mainOf = (fields: string, around: Around = {}): ServiceDescription =>
  translated(mainFile(fields), around).description.services[0] as ServiceDescription;

/** The variables of a service, which come in this order. */
export const variablesOf = (service: ServiceDescription | undefined): Record<string, string> =>
  Object.fromEntries(service?.environment ?? []);

/** `fields` are lines without indentation. */
export const mainFile = (fields: string): string =>
  `services:\n  main:\n    image: i\n${fields === '' ? '' : `${fields.replaceAll(/^/gm, '    ')}\n`}`;

export const fill = (text: string, length: number): string => text.repeat(Math.floor(length / text.length));
