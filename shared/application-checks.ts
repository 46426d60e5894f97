/**
 * Checks of an application description that span several fields. They accept any input, so that they also
 * report on a description that does not match the schema (application-schema.ts). Pure.
 */
import { MAX_INSTANCES, type Problem } from './application-schema.ts';
import { splitCommand } from './command.ts';
import { unknownVariables } from './variables.ts';

export type Loose = Record<string, unknown>;
export const isRecord = (value: unknown): value is Loose =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Problems between fields of the application, and between fields of each service. */
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
  /** Its index in the description. */
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

/**
 * Names of services must be unique, and so must the names of all instances: 11 instances of `web` include
 * `web10`, which is also an instance of `web1` (API-12).
 */
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

/** Checks environment and command: their variables, and the length of what the program is started with. */
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
      // Checks the words and not the text, because variables are filled into words: quotes may create or
      // break a reference (API-11).
      for (const name of unknownVariables(split.words, instances)) add('/command', unknownVariable(name));
      if (split.words.some(isTooLong)) add('/command', `has a word of ${TOO_LONG}`);
    }
  }
}

const unknownVariable = (name: string) =>
  `uses the unknown variable {${name}} (known: {user_name}, {execution_id}, {execution_name}, {deployment_name}, ` +
  `{dns_name#self}, {dns_name#<instance>}); write {{${name}}} for the literal text {${name}}`;

/** The longest variable or argument with which Linux starts a program (MAX_ARG_STRLEN, API-14). */
const MAX_ARGUMENT_BYTES = 131_071;
const TOO_LONG = 'more than 131,071 bytes, the limit of Linux: put the value into a volume or the image';

/** Counts bytes in UTF-8. */
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

/** 0 for an invalid count, which the schema reports. */
const countOf = ({ total_count: count }: Loose): number =>
  isNumber(count) && Number.isInteger(count) && count > 0 ? count : 0;

/**
 * At most as many names as an application may have instances, whatever the description says; none if the name
 * is not text.
 */
const instanceNames = (service: Loose): string[] =>
  typeof service.name === 'string'
    ? Array.from({ length: Math.min(countOf(service), MAX_INSTANCES) }, (_, n) => `${service.name}${n}`)
    : [];

function listAt(value: unknown, key: string): unknown[] {
  const list = isRecord(value) ? value[key] : undefined;
  return Array.isArray(list) ? list : [];
}
