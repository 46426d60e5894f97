/** The variables of a Compose service: those of its files, then its own. Pure. */
import { resolve } from 'node:path';
import type { Path, Remarks } from '../remarks.ts';
import type { ComposeService } from '../schema.ts';
import { type EnvFormat, MAX_VARIABLES, readVariables } from './env-file.ts';
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
  readonly #lookUp: LookUp;
  readonly #known = new Map<string, ReadonlyMap<string, string> | undefined>();

  constructor(surroundings: Surroundings, lookUp: LookUp) {
    this.#surroundings = surroundings;
    this.#lookUp = lookUp;
  }

  /** Undefined if there is no such file. */
  variablesOf(path: string, format: EnvFormat): ReadonlyMap<string, string> | undefined {
    const key = `${format} ${path}`;
    if (!this.#known.has(key)) {
      const text = this.#surroundings.read(resolve(this.#surroundings.folder, path));
      this.#known.set(key, text === undefined ? undefined : readVariables(text, this.#lookUp, format));
    }
    return this.#known.get(key);
  }
}

export function environmentOf(
  service: ComposeService,
  base: Path,
  files: VariableFiles,
  lookUp: LookUp,
  remarks: Remarks,
): Map<string, Variable> {
  const variables = new Map<string, Variable>();
  addFiles(variables, service, base, files, remarks);
  const path = [...base, 'environment'];
  for (const [name, given, at] of entriesOf(service.environment ?? [])) {
    const place = [...path, at];
    const value = given ?? lookUp(name);
    if (value !== undefined) variables.set(name, { value, path: place });
    else remarks.leaveOut(place, `${name} has no value in the file, in .env or in the environment`);
  }
  return variables;
}

function addFiles(
  variables: Map<string, Variable>,
  { env_file }: ComposeService,
  base: Path,
  files: VariableFiles,
  remarks: Remarks,
): void {
  const entries = typeof env_file === 'string' ? [env_file] : (env_file ?? []);
  for (const [at, entry] of entries.slice(0, MAX_FILES).entries()) {
    const place = typeof env_file === 'string' ? [...base, 'env_file'] : [...base, 'env_file', at];
    const { path, required, format } =
      typeof entry === 'string' ? { path: entry, required: true, format: undefined } : entry;
    try {
      const found = files.variablesOf(path, format ?? 'quoted');
      if (found === undefined && required)
        remarks.problem(
          place,
          `has the file ${path}, which does not exist: make it, or write required: false`,
        );
      for (const [name, value] of found ?? []) variables.set(name, { value, path: place });
      if (variables.size > MAX_VARIABLES)
        throw new Error(`is beyond ${MAX_VARIABLES} variables: remove some`);
    } catch (error) {
      remarks.problem(place, `has the file ${path}: ${(error as Error).message}`);
      return;
    }
  }
  if (entries.length > MAX_FILES)
    remarks.problem(
      [...base, 'env_file'],
      `has ${entries.length} files; the limit is ${MAX_FILES}: join some`,
    );
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
