/** Makes application descriptions out of files, options and words. The server checks them. */
import { readFile } from 'node:fs/promises';
import type { Application, ServiceDescription } from '../client/berth.ts';
import { joinCommand } from '../shared/command.ts';
import { escapeReferences } from '../shared/variables.ts';
import { ComposeError, linesOf } from './compose/remarks.ts';
import { withBraces } from './compose/texts.ts';
import { readVariables } from './compose/variables/env-file.ts';
import { ProblemsError } from './terminal/exit.ts';
import { onOneLine } from './terminal/table.ts';
import type { Terminal } from './terminal/terminal.ts';

/** A description that only the server checks. */
export type Description = Application;

export interface Changes {
  /** `PATH=VALUE` each. */
  set?: readonly string[] | undefined;
  /** File of variables for all services, as Compose reads one. */
  envFile?: string | undefined;
}

export interface DescriptionOptions extends Changes {
  /** In place of a file: an application of one service with this image. */
  image?: string | undefined;
}

/** `path`: of a JSON file or a Compose file; `-` is the standard input. `words`: the command for `image`. */
export async function describe(
  terminal: Terminal,
  path: string | undefined,
  words: readonly string[],
  options: DescriptionOptions,
): Promise<Description> {
  const description = await described(terminal, path, words, options.image);
  await change(description, options, terminal);
  return description;
}

/** Changes the description itself. */
export async function change(
  description: Description,
  { set = [], envFile }: Changes,
  terminal: Pick<Terminal, 'env' | 'say'>,
): Promise<void> {
  for (const assignment of set) assign(description, assignment);
  if (envFile === undefined) return;
  const text = await readFile(envFile, 'utf8');
  try {
    const variables = readVariables(text, (name) => terminal.env[name]);
    const entries = [...variables].map(([name, value]): [string, string] => [
      name,
      withBraces(value, (known) => terminal.say(`${envFile}: ${name} has {${known}}, which Berth fills in.`)),
    ]);
    addVariables(description, entries);
  } catch (error) {
    throw new Error(`${envFile}: ${(error as Error).message}.`);
  }
}

async function described(
  terminal: Terminal,
  path: string | undefined,
  words: readonly string[],
  image: string | undefined,
): Promise<Description> {
  if ((path === undefined) === (image === undefined))
    throw new Error('Give either a file with a description, or --image IMAGE.');
  if (image !== undefined) return imageDescription(image, words);
  if (words.length > 0)
    throw new Error('Words after -- are for --image; the description has its own command.');
  return readDescription(path ?? '-', terminal);
}

/** The file in a sentence. */
export const nameOf = (path: string): string => (path === '-' ? 'The standard input' : path);

const IS_YAML = /\.ya?ml$/i;

/** `path`: of a JSON file or a Compose file; `-` is the standard input, in JSON. */
export async function readDescription(path: string, terminal: Terminal): Promise<Description> {
  if (IS_YAML.test(path)) return readComposeFile(path, terminal);
  const text = path === '-' ? await terminal.input() : await readFile(path, 'utf8');
  const value = await jsonIn(text, path);
  if (typeof value === 'object' && value !== null && 'name' in value && typeof value.name === 'string')
    return value as Description;
  throw new Error(`${nameOf(path)} is not an application description: it has no name.`);
}

/** Throws for a text that is not JSON, with the place of each fault. */
async function jsonIn(text: string, path: string): Promise<unknown> {
  try {
    return JSON.parse(text);
  } catch {
    // Only a text with faults needs a parser that finds their places.
    const { readJson } = await import('../shared/json-faults.ts');
    const faults = readJson(text).faults ?? [];
    const lines = faults.map(({ line, column, message }) => `line ${line}, column ${column}: ${message}`);
    throw new ProblemsError(`${nameOf(path)} is not JSON:`, lines);
  }
}

/** Says what the description leaves out of the file. */
async function readComposeFile(path: string, terminal: Terminal): Promise<Description> {
  // No other command needs YAML, which takes longer to load than all else.
  const { readCompose } = await import('./compose/read.ts');
  try {
    const { description, leftOut, notes } = readCompose(path, terminal.env);
    for (const line of linesOf(path, [...leftOut, ...notes])) terminal.say(onOneLine(line));
    return description;
  } catch (error) {
    if (!(error instanceof ComposeError)) throw error;
    throw new ProblemsError(`${path} can't be translated:`, linesOf(path, error.problems));
  }
}

/** One container that runs to its end. */
export function imageDescription(image: string, words: readonly string[]): Application {
  const service: ServiceDescription = {
    name: 'main',
    image,
    monitor: true,
    total_count: 1,
    essential_count: 1,
    startup_order: 0,
    resources: { memory: { min: null, max: null }, cores: { min: null, max: null } },
    environment: [],
    volumes: [],
    ports: [],
    command:
      words.length === 0 ? null : joinCommand(words.map((word) => escapeReferences(word, () => false))),
  };
  return { name: nameOfImage(image), version: 3, will_end: true, size: 1, services: [service] };
}

/** The last part of the image's name, without tag and digest, as far as an application may be called so. */
function nameOfImage(image: string): string {
  const last = image.replace(/@.*$/, '').replace(/^.*\//, '').replace(/:.*$/, '');
  const name = last.replace(/[^A-Za-z0-9-]/g, '-').slice(0, 128);
  return name.length < 3 ? `${name}-image` : name;
}

/**
 * Sets one value: `services.web.total_count=3`. An entry of a list is found by its name or by its index, from
 * 0. The value is JSON, or else a text. Throws if there is no such place.
 */
export function assign(description: Description, assignment: string): void {
  const [, path = '', value = ''] = /^([^=]+)=(.*)$/s.exec(assignment) ?? [];
  const names = path.split('.');
  const last = names.pop();
  let place: unknown = description;
  for (const name of names) place = memberOf(place, name);
  if (last === undefined || path === '' || typeof place !== 'object' || place === null)
    throw new Error(
      `--set ${assignment}: give PATH=VALUE, such as services.main.total_count=3, of a place that exists.`,
    );
  const key = Array.isArray(place) ? String(indexOf(place, last)) : last;
  Object.defineProperty(place, key, {
    value: jsonOrText(value),
    writable: true,
    enumerable: true,
    configurable: true,
  });
}

function memberOf(place: unknown, name: string): unknown {
  if (Array.isArray(place)) return place[indexOf(place, name)];
  return typeof place === 'object' && place !== null && Object.hasOwn(place, name)
    ? (place as Record<string, unknown>)[name]
    : undefined;
}

/** The index of the entry of that name; the length of the list if `name` is the next index. */
function indexOf(list: readonly unknown[], name: string): number {
  const named = list.findIndex((entry) => nameOfEntry(entry) === name);
  if (named >= 0) return named;
  if (/^\d{1,4}$/.test(name) && Number(name) <= list.length) return Number(name);
  const names = list.flatMap((entry) => nameOfEntry(entry) ?? []).join(', ');
  throw new Error(`--set finds no ${name}; the list has ${names || `${list.length} entries`}.`);
}

/** Lists within lists have indices only. */
const nameOfEntry = (entry: unknown): unknown => (Array.isArray(entry) ? undefined : memberOf(entry, 'name'));

function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function addVariables(description: Description, variables: readonly [string, string][]): void {
  const services = memberOf(description, 'services');
  if (!Array.isArray(services)) throw new Error('the description has no services for the variables');
  for (const service of services as { environment?: unknown[] }[])
    service.environment = [...(service.environment ?? []), ...variables];
}
