/** The variables of a Compose service: those of its files, then its own. Pure. */
import { resolve } from 'node:path';
import type { Path, Remarks } from '../remarks.ts';
import type { ComposeService } from '../schema.ts';
import { MAX_VARIABLES, readVariables } from './env-file.ts';
import type { LookUp } from './interpolation.ts';

/** What a file is read and translated in. */
export interface Surroundings {
  /** The folder of the Compose file: relative paths begin there. */
  folder: string;
  /** The environment of the command. */
  environment: LookUp;
  /** The text of a file; undefined if there is none. Throws if it can't be read. */
  read(path: string): string | undefined;
}

/** Entries of `env_file` of one service. */
const MAX_FILES = 100;

export interface Variable {
  value: string;
  path: Path;
}

/** Reads files of variables, each one once. */
export class VariableFiles {
  readonly #surroundings: Surroundings;
  readonly #texts = new Map<string, string | undefined>();

  constructor(surroundings: Surroundings) {
    this.#surroundings = surroundings;
  }

  /** Undefined if there is no such file. */
  textOf(path: string): string | undefined {
    if (!this.#texts.has(path))
      this.#texts.set(path, this.#surroundings.read(resolve(this.#surroundings.folder, path)));
    return this.#texts.get(path);
  }
}

export function environmentOf(
  service: ComposeService,
  base: Path,
  files: VariableFiles,
  lookUp: LookUp,
  remarks: Remarks,
): Map<string, Variable> {
  const path = [...base, 'environment'];
  const own = new Map<string, Variable>();
  for (const [name, given, at] of entriesOf(service.environment ?? [])) {
    const place = [...path, at];
    const value = given ?? lookUp(name);
    if (value !== undefined) own.set(name, { value, path: place });
    else remarks.leaveOut(place, `${name} has no value in the file, in .env or in the environment`);
  }
  const known: LookUp = (name) => lookUp(name) ?? own.get(name)?.value;
  return new Map([...variablesOfFiles(service, base, files, known, remarks), ...own]);
}

function variablesOfFiles(
  { env_file }: ComposeService,
  base: Path,
  files: VariableFiles,
  lookUp: LookUp,
  remarks: Remarks,
): Map<string, Variable> {
  const variables = new Map<string, Variable>();
  const earlier: LookUp = (name) => lookUp(name) ?? variables.get(name)?.value;
  const entries = typeof env_file === 'string' ? [env_file] : (env_file ?? []);
  for (const [at, entry] of entries.slice(0, MAX_FILES).entries()) {
    const place = typeof env_file === 'string' ? [...base, 'env_file'] : [...base, 'env_file', at];
    const { path, required, format } =
      typeof entry === 'string' ? { path: entry, required: true, format: undefined } : entry;
    try {
      const text = files.textOf(path);
      if (text === undefined && required)
        remarks.problem(
          place,
          `has the file ${path}, which does not exist: make it, or write required: false`,
        );
      for (const [name, value] of readVariables(text ?? '', lookUp, format ?? 'quoted', earlier))
        variables.set(name, { value, path: place });
      if (variables.size > MAX_VARIABLES)
        throw new Error(`is beyond ${MAX_VARIABLES} variables: remove some`);
    } catch (error) {
      remarks.problem(place, `has the file ${path}: ${(error as Error).message}`);
      return variables;
    }
  }
  if (entries.length > MAX_FILES)
    remarks.problem(
      [...base, 'env_file'],
      `has ${entries.length} files; the limit is ${MAX_FILES}: join some`,
    );
  return variables;
}

/** Name, value and place. A name without a value takes that of the environment. */
function entriesOf(
  given: NonNullable<ComposeService['environment']>,
): [name: string, value: string | undefined, at: string | number][] {
  if (!Array.isArray(given))
    return Object.entries(given).map(([name, value]) => [
      name,
      value === null ? undefined : String(value),
      name,
    ]);
  return given.map((text, index) => {
    const at = text.indexOf('=');
    return at < 0 ? [text, undefined, index] : [text.slice(0, at), text.slice(at + 1), index];
  });
}
