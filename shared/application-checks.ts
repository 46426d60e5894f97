/**
 * Checks of an application description that span several fields. They see only fields that passed the schema
 * by themselves (application-schema.ts), so their work is bounded by its limits. Pure.
 */
import type * as z from 'zod';
import { type Findings, shown } from './application-problems.ts';
import {
  MAX_INSTANCES,
  MAX_LABEL_TEXT,
  type ServiceDescription,
  type serviceFrame,
} from './application-schema.ts';
import { isPlain, splitCommand } from './command.ts';
import { InstanceNames } from './instance-names.ts';
import { type HealthDescription, healthKinds, MIN_COMMAND_INTERVAL_S } from './schema-parts.ts';
import type { Steps } from './steps.ts';
import { unknownVariables } from './variables.ts';

export type Loose = Record<string, unknown>;
export const isRecord = (value: unknown): value is Loose =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** What passed by itself of a service: some of its fields, and entries of its lists. */
export interface CheckedService {
  /** Its index in the description. */
  at: number;
  fields: Partial<z.output<typeof serviceFrame>>;
  environment: (ServiceDescription['environment'][number] | undefined)[];
  volumes: (ServiceDescription['volumes'][number] | undefined)[];
  ports: (ServiceDescription['ports'][number] | undefined)[];
  labels: (string | undefined)[];
}

/** Reports the problems between fields of the application, and between fields of each service. */
export function* semanticProblems(services: readonly CheckedService[], found: Findings): Steps<void> {
  if (services.length === 0) return;
  applicationProblems(services, found);
  const names = nameProblems(services, found);
  for (const service of services) {
    if (found.isFull) return;
    serviceProblems(service, found);
    yield* checkEnvironment(service, names, found);
    const { at, fields } = service;
    yield* checkCommand(['services', at, 'command'], fields.command, names, found);
    const { health } = fields;
    if (!health) continue;
    healthProblems(['services', at, 'health'], health, found);
    yield* checkCommand(['services', at, 'health', 'command'], health.command, names, found);
  }
}

function applicationProblems(services: readonly CheckedService[], found: Findings): void {
  if (!services.some(({ fields }) => fields.monitor === true)) {
    found.add(['services'], 'needs at least one service with "monitor": true');
  }
  const total = services.reduce((sum, { fields }) => sum + (fields.total_count ?? 0), 0);
  if (total > MAX_INSTANCES) {
    found.add(['services'], `has ${total} instances in all; the limit is ${MAX_INSTANCES}`);
  }
  const characters = charactersOf(services.flatMap((service) => service.labels));
  if (characters > MAX_LABEL_TEXT) {
    found.add(['services'], `has labels of ${characters} characters in all; the limit is ${MAX_LABEL_TEXT}`);
  }
}

/** Characters of the different labels. */
function charactersOf(labels: readonly (string | undefined)[]): number {
  let characters = 0;
  for (const label of labels.length > 1 ? new Set(labels) : labels) characters += label?.length ?? 0;
  return characters;
}

/** The instances to which variables may refer. */
type Instances = Pick<ReadonlySet<string>, 'has'>;
const ANY_INSTANCE: Instances = { has: () => true };

/**
 * Names of services must be unique, and so must the names of all instances: 11 instances of `web` include
 * `web10`, which is also an instance of `web1` (API-12). DNS ignores the case of letters. Returns the
 * instances.
 */
function nameProblems(services: readonly CheckedService[], found: Findings): Instances {
  const groups = new Map<string, { name: string; at: number }>();
  const instances = new InstanceNames();
  let complete = true;
  for (const { at, fields } of services) {
    const { name, total_count: count, essential_count: essential = 0 } = fields;
    complete &&= name !== undefined && count !== undefined && essential <= count;
    if (name === undefined) continue;
    const path = ['services', at, 'name'];
    const folded = name.toLowerCase();
    const earlier = groups.get(folded);
    if (earlier) {
      const reason = earlier.name === name ? '' : ': DNS does not tell upper and lower case apart';
      found.add(path, `is also the name of service ${earlier.at}${reason}`);
      continue;
    }
    groups.set(folded, { name, at });
    if (count === undefined) continue;
    const taken = instances.collisionOf(name, count);
    if (taken) {
      const owner = `which is also an instance of service ${taken.owner}`;
      found.add(path, `gives an instance the name ${taken.instance}, ${owner}`);
    }
    instances.add(name, count, at);
  }
  // The instances of a service whose name or counts are wrong are not known.
  return complete ? instances : ANY_INSTANCE;
}

function serviceProblems({ at, fields, volumes }: CheckedService, found: Findings): void {
  const { essential_count: essential, total_count: total, resources } = fields;
  if (essential !== undefined && total !== undefined && essential > total)
    found.add(['services', at, 'essential_count'], 'is more than total_count');
  for (const kind of ['memory', 'cores'] as const) {
    const { min = null, max = null } = resources?.[kind] ?? {};
    if (min !== null && max !== null && max < min)
      found.add(['services', at, 'resources', kind, 'max'], 'is less than min');
  }
  fileProblems({ at, fields, volumes }, found);
  if (volumes.length < 2) return;
  const mounts = new Set<string>();
  for (const [entry, volume] of volumes.entries()) {
    if (!volume) continue;
    if (mounts.has(volume.name))
      found.add(['services', at, 'volumes', entry, 'name'], 'is also the name of another volume');
    mounts.add(volume.name);
  }
}

/** The engine would create a place for a file in whatever is mounted there, such as a folder of the host. */
function fileProblems(
  { at, fields, volumes }: Pick<CheckedService, 'at' | 'fields' | 'volumes'>,
  found: Findings,
): void {
  const { files = [] } = fields;
  if (files.length === 0) return;
  const folders = new Set(volumes.flatMap((volume) => (volume ? [`${VOLUMES}/${volume.name}`] : [])));
  const paths = new Set<string>();
  const all = new Set(files.map(({ path }) => path));
  for (const [entry, { path }] of files.entries()) {
    const add = (problem: string) => found.add(['services', at, 'files', entry, 'path'], problem);
    if (paths.has(path)) add('is also the path of another file');
    paths.add(path);
    const above = foldersAbove(path);
    const file = above.find((folder) => all.has(folder));
    if (file !== undefined) add(`is beneath ${shown(file)}, which is another file`);
    const folder = [...above, path].find((one) => folders.has(one) || WORKSPACES.includes(one));
    if (folder !== undefined) add(`is in ${shown(folder)}, where a folder of the host is mounted`);
    if (path === VOLUMES && folders.size > 0) add('is above the volumes');
  }
}

/** Where containers have the folders of their volumes. */
const VOLUMES = '/mnt';
/** Where they may have the workspace of their user (H738). */
const WORKSPACES = ['/workspace', '/mnt/workspace'];

function foldersAbove(path: string): string[] {
  const folders = [];
  for (let at = path.indexOf('/', 1); at >= 0; at = path.indexOf('/', at + 1))
    folders.push(path.slice(0, at));
  return folders;
}

function healthProblems(path: readonly PropertyKey[], health: HealthDescription, found: Findings): void {
  const given = healthKinds.filter((kind) => health[kind] !== undefined);
  if (given.length !== 1)
    found.add(path, `must have exactly one of "http", "tcp", "command" and "image", and has ${given.length}`);
  // A line break that a backslash escapes leaves no word either.
  const split = splitCommand(health.command ?? 'none', MAX_WORDS);
  if ('words' in split && split.words.length === 0) found.add([...path, 'command'], 'must not be blank');
  const runsCommand = health.command !== undefined || health.image !== undefined;
  if (runsCommand && (health.interval ?? MIN_COMMAND_INTERVAL_S) < MIN_COMMAND_INTERVAL_S)
    found.add(
      [...path, 'interval'],
      `must be at least ${MIN_COMMAND_INTERVAL_S} for a command in the container`,
    );
}

/** A step checks this much text, or as many entries. */
const STEP_LENGTH = 50_000;
const CHARACTERS_A_UNIT = 100;

function* checkEnvironment(
  { at, environment }: CheckedService,
  instances: Instances,
  found: Findings,
): Steps<void> {
  let length = 0;
  for (let entry = 0; entry < environment.length && !found.isFull; entry++) {
    const pair = environment[entry];
    if (!pair) continue;
    for (const problem of variableProblems(pair, instances, found))
      found.add(['services', at, 'environment', entry, 1], problem);
    length += pair[1].length + CHARACTERS_A_UNIT;
    if (length < STEP_LENGTH) continue;
    yield length / CHARACTERS_A_UNIT;
    length = 0;
  }
}

function variableProblems(
  [name, value]: ServiceDescription['environment'][number],
  instances: Instances,
  { room }: Findings,
): string[] {
  if (isTooLong(`${name}=${value}`)) return [`has, with its name, ${TOO_LONG}`];
  return unknownVariables([value], instances, room, true).map((unknown) => unknownVariable(unknown, true));
}

/** Checks the variables of the command, and the length of what the program is started with. */
function* checkCommand(
  path: readonly PropertyKey[],
  command: string | null | undefined,
  instances: Instances,
  found: Findings,
): Steps<void> {
  if (typeof command !== 'string') return;
  // Too short for too many words or too long ones. A reference has no blank, so that the references of plain
  // words are those of the text.
  const isWhole = command.length <= 2 * MAX_WORDS && !isTooLong(command) && isPlain(command);
  const split = isWhole ? { words: [command] } : splitCommand(command, MAX_WORDS);
  yield command.length / CHARACTERS_A_UNIT;
  if ('problem' in split) return found.add(path, split.problem);
  // Checks the words and not the text, because variables are filled into words: quotes may create or break a
  // reference (API-11).
  const words = isTooLong(command) ? split.words.filter((word) => !isTooLong(word)) : split.words;
  const unknown = command.includes('{') ? unknownVariables(words, instances, found.room) : [];
  for (const name of unknown) found.add(path, unknownVariable(name, false));
  if (words.length < split.words.length) found.add(path, `has a word of ${TOO_LONG}`);
  yield command.length / CHARACTERS_A_UNIT;
}

function unknownVariable(name: string, mayUseSecrets: boolean): string {
  const reference = `{${shown(name)}}`;
  if (name.startsWith('secret#') && mayUseSecrets)
    return `uses ${reference}, but the name of a secret begins with a letter and has at most 64 letters, digits, "_" and "-"`;
  if (name.startsWith('secret#'))
    return `uses ${reference}, but a command must not have secrets, which every user of the host could see: use it in the environment`;
  return (
    `uses the unknown variable ${reference} (known: {user_name}, {execution_id}, {execution_name}, ` +
    `{deployment_name}, {dns_name#self}, {dns_name#<instance>}, {secret#<name>} in the environment); write {${reference}} for the literal text ${reference}`
  );
}

/** Linux allows about 200,000 short arguments. Splitting that many words takes too long. */
const MAX_WORDS = 32_768;

/** The longest variable or argument with which Linux starts a program (MAX_ARG_STRLEN, API-14). */
export const MAX_ARGUMENT_BYTES = 131_071;
const TOO_LONG = 'more than 131,071 bytes, the limit of Linux: put the value into a volume or the image';

const BEYOND_ASCII = /[\u0080-\uffff]/;

/** Counts bytes in UTF-8. */
function isTooLong(text: string): boolean {
  if (text.length * 3 <= MAX_ARGUMENT_BYTES) return false;
  if (text.length > MAX_ARGUMENT_BYTES) return true;
  // An expression takes a fifth of the time of the loop.
  if (!BEYOND_ASCII.test(text)) return false;
  let bytes = text.length;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    // Each half of a surrogate pair takes two bytes.
    if (code >= 0x80) bytes += code < 0x800 || (code & 0xf800) === 0xd800 ? 1 : 2;
  }
  return bytes > MAX_ARGUMENT_BYTES;
}
