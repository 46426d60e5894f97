/** Makes a service of a description out of one of a Compose file. Pure. */
import { type ServiceDescription, serviceSchema } from '../../shared/application-schema.ts';
import { schemaMessage } from '../../shared/application-words.ts';
import { EXTENSION } from './document.ts';
import { reviewFields } from './fields.ts';
import { healthOf } from './health.ts';
import { portsOf } from './ports.ts';
import type { Path, Remarks } from './remarks.ts';
import { restartOf } from './restart.ts';
import { type ComposeService, composeService } from './schema.ts';
import { bytesOf } from './sizes.ts';
import { commandWithReferences, hostIn, serviceName, withReferences } from './texts.ts';
import { environmentOf, type VariableFiles } from './variables/environment.ts';
import type { LookUp } from './variables/interpolation.ts';
import { volumesOf } from './volumes.ts';

export interface Context {
  folder: string;
  lookUp: LookUp;
  files: VariableFiles;
  remarks: Remarks;
}

/** A service of the file after its first reading. */
export interface Given {
  /** As the file calls it. */
  key: string;
  path: Path;
  compose: ComposeService;
  /** The fields of `x-berth`, which win as they are. */
  own: Partial<ServiceDescription>;
  /** As the description calls it. */
  name: string;
}

/** Undefined if it has problems, or is left out as a whole. */
export function readService(key: string, value: unknown, remarks: Remarks): Given | undefined {
  const path: Path = ['services', key];
  if (hasProfiles(value)) {
    remarks.leaveOut(path, 'Compose starts it with a profile only: remove profiles to run it');
    return undefined;
  }
  reviewService(value, path, remarks);
  const { success, data, error } = composeService.safeParse(value, { error: schemaMessage });
  if (!success) {
    for (const issue of error.issues) remarks.problem([...path, ...(issue.path as Path)], issue.message);
    return undefined;
  }
  const own = ownFields(data[EXTENSION] ?? {}, [...path, EXTENSION], remarks);
  const name = own.name ?? serviceName(key);
  const { name: known } = serviceSchema.shape;
  if (own.name === undefined && !known.safeParse(name).success)
    remarks.problem(
      path,
      'must have a name of 3 to 16 letters, digits and inner "-": give it in x-berth: {name: ...}',
    );
  else if (name !== key) remarks.note(path, `is called ${name} here`);
  if (data.image == null && own.image === undefined)
    remarks.problem(path, 'has no image: Berth builds none; push one, and give its name as image');
  return { key, path, compose: data, own, name };
}

export const hasProfiles = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  'profiles' in value &&
  Array.isArray(value.profiles) &&
  value.profiles.length > 0;

function reviewService(value: unknown, path: Path, remarks: Remarks): void {
  const at = (...names: string[]): [unknown, Path] => {
    const found = names.reduce(
      (one: unknown, name) => (one as Record<string, unknown> | null)?.[name],
      value,
    );
    return [found, [...path, ...names]];
  };
  reviewFields(...at(), 'service', remarks);
  reviewFields(...at('healthcheck'), 'healthcheck', remarks);
  reviewFields(...at('deploy'), 'deploy', remarks);
  reviewFields(...at('deploy', 'resources'), 'resources', remarks);
  reviewFields(...at('deploy', 'resources', 'limits'), 'limits', remarks);
  reviewFields(...at('deploy', 'resources', 'reservations'), 'reservations', remarks);
  reviewFields(...at('deploy', 'restart_policy'), 'restart_policy', remarks);
  for (const [field, table] of [
    ['env_file', 'env_file'],
    ['ports', 'port'],
    ['volumes', 'volume'],
    ['depends_on', 'dependency'],
  ] as const) {
    const [entries, inner] = at(field);
    if (typeof entries !== 'object' || entries === null) continue;
    for (const [key, entry] of Object.entries(entries))
      reviewFields(entry, [...inner, Array.isArray(entries) ? Number(key) : key], table, remarks);
  }
}

/** Reports fields that a description does not have. The other checks are those of descriptions. */
function ownFields(given: object, path: Path, remarks: Remarks): Partial<ServiceDescription> {
  const fields = serviceSchema.partial().safeParse(given, { error: schemaMessage });
  if (fields.success) return fields.data as Partial<ServiceDescription>;
  for (const issue of fields.error.issues) {
    const inner = [...path, ...(issue.path as Path)];
    if (issue.code !== 'unrecognized_keys') remarks.problem(inner, issue.message);
    else
      for (const key of issue.keys)
        remarks.problem([...inner, key], 'is not a field of the description format');
  }
  return {};
}

export interface Decided {
  monitor: boolean;
  order: number;
  /** Whether another service waits until this one is healthy. */
  isAwaited: boolean;
  /** Names of the description by those of the file. */
  names: ReadonlyMap<string, string>;
}

export interface Described {
  description: ServiceDescription;
  /** The places from which parts of the description come, by JSON pointers within it. */
  places: Map<string, Path>;
}

export function describeService(given: Given, decided: Decided, context: Context): Described {
  const { path, compose, own, name } = given;
  const { remarks, lookUp } = context;
  const variables = environmentOf(compose, path, context.files, lookUp, remarks);
  const ports = portsOf(compose.ports ?? [], name, [...path, 'ports'], remarks);
  const volumes = volumesOf(compose.volumes ?? [], context, [...path, 'volumes'], remarks);
  const count = instancesOf(compose, path, remarks);
  for (const { value, path: place } of variables.values()) noteHost(value, place, given, decided, remarks);
  const description: ServiceDescription = {
    name,
    image: compose.image ?? '',
    monitor: decided.monitor,
    total_count: count,
    essential_count: own.total_count ?? count,
    startup_order: decided.order,
    resources: resourcesOf(compose, path, remarks),
    environment: [...variables].map(([variable, { value, path: place }]) => {
      const [text = ''] = withReferences([value], place, remarks);
      return [variable, text];
    }),
    volumes: volumes.map(({ volume }) => volume),
    ports: ports.map(({ port }) => port),
    command: commandOf(given, decided, remarks),
    ...(compose.working_dir != null && { work_dir: compose.working_dir }),
    ...userOf(compose, path, remarks),
    ...lifeOf(given, decided, remarks),
    ...own,
  };
  const places = new Map<string, Path>();
  const place = (list: string, entries: readonly { path: Path }[]) => {
    for (const [at, entry] of entries.entries()) places.set(`/${list}/${at}`, entry.path);
  };
  place('environment', [...variables.values()]);
  place('ports', ports);
  place('volumes', volumes);
  for (const [pointer, field] of FIELDS) places.set(pointer, [...path, ...field.split('.')]);
  for (const field of Object.keys(own)) {
    for (const pointer of places.keys()) if (pointer.startsWith(`/${field}/`)) places.delete(pointer);
    places.set(`/${field}`, [...path, EXTENSION, field]);
  }
  return { description, places };
}

/** How its health is checked, and how often it starts again. */
function lifeOf(given: Given, decided: Decided, remarks: Remarks) {
  const { path, compose, own } = given;
  const { test } = compose.healthcheck ?? {};
  const health = own.health === undefined ? healthOf(compose, decided.isAwaited, path, remarks) : undefined;
  if (health?.command !== undefined)
    for (const word of typeof test === 'string' ? [test] : (test ?? []))
      noteHost(word, [...path, 'healthcheck', 'test'], given, decided, remarks);
  const restart = own.restart === undefined ? restartOf(compose, decided.monitor, path, remarks) : undefined;
  return { ...(health && { health }), ...(restart && { restart }) };
}

/** Fields of a description that have another name in Compose. */
const FIELDS = [
  ['/image', 'image'],
  ['/total_count', 'deploy.replicas'],
  ['/resources', 'deploy.resources'],
  ['/resources/shm', 'shm_size'],
  ['/environment', 'environment'],
  ['/ports', 'ports'],
  ['/volumes', 'volumes'],
  ['/command', 'command'],
  ['/work_dir', 'working_dir'],
  ['/user', 'user'],
  ['/health', 'healthcheck'],
  ['/health/command', 'healthcheck.test'],
  ['/health/retries', 'healthcheck.retries'],
] as const;

function commandOf({ path, compose, ...given }: Given, decided: Decided, remarks: Remarks): string | null {
  const { command } = compose;
  const place = [...path, 'command'];
  if (command == null) return null;
  for (const word of typeof command === 'string' ? [command] : command)
    noteHost(word, place, { path, compose, ...given }, decided, remarks);
  if (command.length === 0) remarks.leaveOut(place, "without words the image's own command runs");
  return commandWithReferences(command, place, remarks) || null;
}

/** Compose makes the name of a service a host name. */
function noteHost(text: string, place: Path, { key }: Given, { names }: Decided, remarks: Remarks): void {
  const host = hostIn(text, names);
  if (host === undefined || host === key) return;
  const reference = `{dns_name#${names.get(host)}0}`;
  remarks.note(
    place,
    `may name the service ${host} as a host, which is ${reference} here: write that instead`,
  );
}

/** Only the image knows names of users. */
function userOf({ user }: ComposeService, path: Path, remarks: Remarks): { user?: string } {
  if (user == null) return {};
  if (/^\d+(:\d+)?$/.test(user)) return { user };
  remarks.leaveOut([...path, 'user'], 'a user is an id such as 1000, or two such as 1000:1000');
  return {};
}

/** Reads `deploy`, or the fields that were there before it. A 0 removes a limit. */
function resourcesOf(service: ComposeService, path: Path, remarks: Remarks): ServiceDescription['resources'] {
  const { limits, reservations } = service.deploy?.resources ?? {};
  const { mem_limit, mem_reservation, cpus, shm_size } = service;
  const either = <T>(now: T | null | undefined, before: T | null | undefined, field: string): T | null =>
    oneOf(now, before, [...path, field], 'deploy.resources', remarks);
  const bytes = (text: string | null) => (text === null ? null : bytesOf(text) || null);
  return {
    memory: {
      min: bytes(either(reservations?.memory, mem_reservation, 'mem_reservation')),
      max: bytes(either(limits?.memory, mem_limit, 'mem_limit')),
    },
    cores: { min: reservations?.cpus || null, max: either(limits?.cpus, cpus, 'cpus') || null },
    ...(shm_size != null && { shm: bytesOf(shm_size) }),
  };
}

function instancesOf(service: ComposeService, path: Path, remarks: Remarks): number {
  const { deploy, scale } = service;
  if (deploy?.mode != null && deploy.mode !== 'replicated')
    remarks.leaveOut([...path, 'deploy', 'mode'], 'replicas is the number of instances, whatever the hosts');
  const count = oneOf(deploy?.replicas, scale, [...path, 'scale'], 'deploy.replicas', remarks) ?? 1;
  if (count === 0)
    remarks.problem(
      [...path, deploy?.replicas == null ? 'scale' : 'deploy'],
      'has no instance: remove the service',
    );
  return count;
}

function oneOf<T>(
  now: T | null | undefined,
  before: T | null | undefined,
  path: Path,
  other: string,
  remarks: Remarks,
): T | null {
  if (now != null && before != null && now !== before)
    remarks.problem(path, `differs from ${other}: remove one of them`);
  return now ?? before ?? null;
}
