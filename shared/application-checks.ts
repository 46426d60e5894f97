/**
 * Owns the checks of a description that span several fields. They read loosely, so that they also report on one whose
 * shape is wrong. Pure; the shape itself is application-schema.ts's.
 */
import { MAX_INSTANCES, type Problem } from './application-schema.ts';
import { splitCommand } from './command.ts';
import { unknownVariables } from './variables.ts';

export type Loose = Record<string, unknown>;
export const isRecord = (value: unknown): value is Loose =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Problems between the fields of the application and of each of its services. */
export function semanticProblems(input: unknown): Problem[] {
  const services = listAt(input, 'services').flatMap((value, at): Service[] =>
    isRecord(value) ? [{ value, at, instances: instanceNames(value) }] : [],
  );
  if (services.length === 0) return [];
  const instances = new Set(services.flatMap((service) => service.instances));
  return [
    ...applicationProblems(services.map(({ value }) => value)),
    ...nameProblems(services),
    ...services.flatMap(({ value, at }) => serviceProblems(value, `/services/${at}`, instances)),
  ];
}

interface Service {
  value: Loose;
  /** Its place in the description. */
  at: number;
  instances: string[];
}

function applicationProblems(services: readonly Loose[]): Problem[] {
  const problems: Problem[] = [];
  if (!services.some((service) => service.monitor === true)) {
    problems.push({ pointer: '/services', message: 'needs at least one service with "monitor": true' });
  }
  const total = services.reduce((sum, service) => sum + countOf(service), 0);
  if (total > MAX_INSTANCES) {
    const message = `has ${total} instances in all; the limit is ${MAX_INSTANCES}`;
    problems.push({ pointer: '/services', message });
  }
  return problems;
}

/** Names of services are unique, and so are those of all instances: eleven of `web` make `web10`, as one of `web1` does. */
function nameProblems(services: readonly Service[]): Problem[] {
  const problems: Problem[] = [];
  const groups = new Map<unknown, number>();
  const owners = new Map<string, number>();
  for (const { value, at, instances } of services) {
    if (value.name === undefined) continue;
    const pointer = `/services/${at}/name`;
    const earlier = groups.get(value.name);
    if (earlier !== undefined) {
      problems.push({ pointer, message: `is also the name of service ${earlier}` });
      continue;
    }
    groups.set(value.name, at);
    const taken = instances.find((instance) => owners.has(instance));
    if (taken !== undefined) {
      const message = `gives an instance the name ${taken}, which is also an instance of service ${owners.get(taken)}`;
      problems.push({ pointer, message });
    }
    for (const instance of instances) owners.set(instance, at);
  }
  return problems;
}

function serviceProblems(service: Loose, base: string, instances: ReadonlySet<string>): Problem[] {
  const problems: Problem[] = [];
  const add: Add = (pointer, message) => problems.push({ pointer: base + pointer, message });

  if (
    isNumber(service.essential_count) &&
    isNumber(service.total_count) &&
    service.essential_count > service.total_count
  ) {
    add('/essential_count', 'is more than total_count');
  }
  for (const kind of ['memory', 'cores']) {
    const range = isRecord(service.resources) ? service.resources[kind] : undefined;
    if (isRecord(range) && isNumber(range.min) && isNumber(range.max) && range.max < range.min) {
      add(`/resources/${kind}/max`, 'is less than min');
    }
  }
  checkTexts(service, instances, add);
  const mounts = new Set<unknown>();
  listAt(service, 'volumes').forEach((volume, at) => {
    if (!isRecord(volume) || volume.name === undefined) return;
    if (mounts.has(volume.name)) add(`/volumes/${at}/name`, 'is also the name of another volume');
    mounts.add(volume.name);
  });
  return problems;
}

type Add = (pointer: string, message: string) => void;

/** What programs are started with: variables, and the words of the command. */
function checkTexts(service: Loose, instances: ReadonlySet<string>, add: Add): void {
  listAt(service, 'environment').forEach((pair, at) => {
    if (!Array.isArray(pair) || typeof pair[1] !== 'string') return;
    for (const name of unknownVariables([pair[1]], instances))
      add(`/environment/${at}/1`, unknownVariable(name));
    const variable = typeof pair[0] === 'string' ? `${pair[0]}=${pair[1]}` : pair[1];
    if (isTooLong(variable)) add(`/environment/${at}/1`, `has, with its name, ${TOO_LONG}`);
  });
  if (typeof service.command === 'string') {
    const split = splitCommand(service.command);
    if ('problem' in split) add('/command', split.problem);
    else {
      // Of the words, since that is where they are filled in: quotes may make or break a reference.
      for (const name of unknownVariables(split.words, instances)) add('/command', unknownVariable(name));
      if (split.words.some(isTooLong)) add('/command', `has a word of ${TOO_LONG}`);
    }
  }
}

const unknownVariable = (name: string) =>
  `uses the unknown variable {${name}}; known are {user_name}, {execution_id}, {execution_name}, {deployment_name}, ` +
  `{dns_name#self} and {dns_name#<instance>}; write {{${name}}} for the literal text {${name}}`;

/** Linux starts no program with a variable or an argument that is longer (MAX_ARG_STRLEN). */
const MAX_ARGUMENT_BYTES = 131_071;
const TOO_LONG = 'more than 131,071 bytes, the limit of Linux: put the value into a volume or the image';

/** In UTF-8. */
function isTooLong(text: string): boolean {
  if (text.length * 3 <= MAX_ARGUMENT_BYTES) return false;
  let bytes = 0;
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0;
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  }
  return bytes > MAX_ARGUMENT_BYTES;
}

const isNumber = (value: unknown): value is number => typeof value === 'number';

/** 0 where it isn't a count; the shape says so already. */
const countOf = ({ total_count: count }: Loose): number =>
  isNumber(count) && Number.isInteger(count) && count > 0 ? count : 0;

/** No more than an application may have, whatever the description says; none where the name is no text. */
const instanceNames = (service: Loose): string[] =>
  typeof service.name === 'string'
    ? Array.from({ length: Math.min(countOf(service), MAX_INSTANCES) }, (_, n) => `${service.name}${n}`)
    : [];

function listAt(value: unknown, key: string): unknown[] {
  const list = isRecord(value) ? value[key] : undefined;
  return Array.isArray(list) ? list : [];
}
