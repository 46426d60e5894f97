/**
 * Translates a Compose file into an application description, and says what it left out. Pure: files and the
 * environment are those of its `Surroundings`.
 */
import { basename } from 'node:path';
import { validateApplication } from '../../shared/application.ts';
import { type Application, MAX_SERVICES } from '../../shared/application-schema.ts';
import { schemaMessage } from '../../shared/application-words.ts';
import { EXTENSION, readDocument } from './document.ts';
import { reviewFields } from './fields.ts';
import { isChecked } from './health.ts';
import { monitorsOf, orderOf } from './order.ts';
import { ComposeError, type Path, type Remark, type Remarks } from './remarks.ts';
import { startsAgain } from './restart.ts';
import { composeTop } from './schema.ts';
import {
  type Context,
  type Described,
  describeService,
  type Given,
  hasProfiles,
  readService,
} from './service.ts';
import { applicationName } from './texts.ts';
import { readVariables } from './variables/env-file.ts';
import { type Surroundings, VariableFiles } from './variables/environment.ts';
import type { LookUp } from './variables/interpolation.ts';

export interface Translation {
  description: Application;
  /** Fields without a meaning here, with the reason. */
  leftOut: readonly Remark[];
  /** What became something else than the file says, and what was decided in place of the file. */
  notes: readonly Remark[];
}

/** Throws ComposeError with every problem of the file. */
export function translate(text: string, surroundings: Surroundings): Translation {
  const lookUp = withDotEnv(surroundings);
  const { value, remarks } = readDocument(text, lookUp);
  const top = readTop(value, remarks);
  const files = new VariableFiles(surroundings);
  const context: Context = { folder: surroundings.folder, lookUp, files, remarks };
  const given = Object.entries(top.services).flatMap(([key, one]) => readService(key, one, remarks) ?? []);
  const dependencies = dependenciesOf(given, top.services, remarks);
  const orders = orderOf(dependencies);
  if ('circle' in orders) {
    const [first = ''] = orders.circle;
    const circle = `closes a circle: ${orders.circle.join(' -> ')}`;
    remarks.problem(['services', first, 'depends_on'], `${circle}; remove one of these dependencies`);
  }
  const { monitors, willEnd } = decideMonitors(given, dependencies, remarks);
  const names = new Map(given.map(({ key, name }) => [key, name]));
  const awaited = new Set(given.flatMap(({ compose }) => awaitedBy(compose)));
  const services = given.map((one) => {
    const order = 'circle' in orders ? 0 : (orders.get(one.key) ?? 0);
    const { key } = one;
    const decided = { monitor: monitors.has(key), order, isAwaited: awaited.has(key), names };
    return describeService(one, decided, context);
  });
  remarks.assertNone();
  const description: Application = {
    name: applicationName(top.name ?? basename(surroundings.folder)),
    version: 3,
    will_end: willEnd,
    size: services.reduce((sum, { description: { total_count } }) => sum + total_count, 0),
    services: services.map((one) => one.description),
    ...top.own,
  };
  checkDescription(description, services, given, remarks);
  return { description, leftOut: remarks.leftOut, notes: remarks.notes };
}

/** The environment, and what it does not have from the file `.env` beside the Compose file. */
function withDotEnv({ folder, environment, read }: Surroundings): LookUp {
  const path = `${folder}/.env`;
  try {
    const variables = readVariables(read(path) ?? '', environment);
    return (name) => environment(name) ?? variables.get(name);
  } catch (error) {
    const message = `has a wrong file .env beside it: ${(error as Error).message}`;
    throw new ComposeError([{ path: '', line: 1, column: 1, message }]);
  }
}

interface Top {
  name: string | null | undefined;
  services: Record<string, unknown>;
  own: Partial<Pick<Application, 'name' | 'will_end' | 'size' | 'share'>>;
}

const OWN_FIELDS = ['name', 'will_end', 'size', 'share'];

function readTop(value: unknown, remarks: Remarks): Top {
  const { success, data, error } = composeTop.safeParse(value, { error: schemaMessage });
  for (const issue of error?.issues ?? []) remarks.problem(issue.path as Path, issue.message);
  remarks.assertNone();
  if (!success) throw new Error('unreachable: a wrong shape has problems');
  reviewFields(value, [], 'top', remarks);
  const count = Object.keys(data.services).length;
  if (count > MAX_SERVICES || count === 0)
    remarks.problem(['services'], `has ${count} services: an application has 1 to ${MAX_SERVICES}`);
  const own = data[EXTENSION] ?? {};
  for (const key of Object.keys(own))
    if (!OWN_FIELDS.includes(key))
      remarks.problem([EXTENSION, key], `is not one of ${OWN_FIELDS.join(', ')}; others belong to a service`);
  remarks.assertNone();
  return { name: data.name, services: data.services, own };
}

/** The services on which each one depends, if they are there. `all`: those with problems, too. */
function dependenciesOf(
  given: readonly Given[],
  all: Readonly<Record<string, unknown>>,
  remarks: Remarks,
): Map<string, string[]> {
  const byKey = new Map(given.map((one) => [one.key, one]));
  const isMissing = (name: string) =>
    !byKey.has(name) && !(Object.hasOwn(all, name) && !hasProfiles(all[name]));
  return new Map(
    given.map(({ key, path, compose: { depends_on } }) => {
      const needed = Array.isArray(depends_on)
        ? depends_on.map((name) => ({ name, condition: 'service_started', required: true }))
        : Object.entries(depends_on ?? {}).map(([name, one]) => ({ name, ...one }));
      for (const { name, condition, required } of needed) {
        const place = [...path, 'depends_on', name];
        if (isMissing(name) && required)
          remarks.problem(place, 'is not a service that runs: remove it here, or add it');
        reviewCondition(condition, [...place, 'condition'], byKey.get(name), remarks);
      }
      return [key, [...new Set(needed.map(({ name }) => name).filter((name) => byKey.has(name)))]];
    }),
  );
}

/** The services that must be healthy before this one starts. */
const awaitedBy = ({ depends_on }: Given['compose']): string[] =>
  Array.isArray(depends_on)
    ? []
    : Object.entries(depends_on ?? {}).flatMap(([name, { condition }]) =>
        condition === 'service_healthy' ? [name] : [],
      );

/** Reports what becomes of a condition of Compose beyond `service_started`. */
function reviewCondition(condition: string, place: Path, needed: Given | undefined, remarks: Remarks): void {
  if (condition === 'service_started') return;
  if (condition === 'service_completed_successfully')
    remarks.leaveOut(
      place,
      'a service starts once those before it have started, and one that exits runs again unless it is a monitor',
    );
  else if (condition !== 'service_healthy')
    remarks.problem(place, 'must be service_started, service_healthy or service_completed_successfully');
  else if (needed && needed.own.health === undefined && !isChecked(needed.compose)) {
    if (needed.compose.healthcheck != null)
      remarks.leaveOut(place, `the file says that the health of ${needed.key} is not checked`);
    else remarks.note(place, `waits for the HEALTHCHECK of the image of ${needed.key}, which must have one`);
  }
}

function decideMonitors(
  given: readonly Given[],
  dependencies: ReadonlyMap<string, readonly string[]>,
  remarks: Remarks,
): { monitors: Set<string>; willEnd: boolean } {
  const needed = new Set([...dependencies.values()].flat());
  const candidates = given.map(({ key, compose, own }) => ({
    name: key,
    monitor: own.monitor,
    isNeeded: needed.has(key),
    hasPorts: (own.ports ?? compose.ports ?? []).length > 0,
    restarts: startsAgain(compose),
  }));
  const decided = monitorsOf(candidates);
  for (const one of given) {
    const { key, path, own } = one;
    const isMonitor = decided.monitors.has(key);
    if (isMonitor && own.monitor === undefined && given.length > 1)
      remarks.note(
        path,
        'ends the execution when it exits; x-berth: {monitor: true} at another service changes that',
      );
  }
  return decided;
}

/** Throws ComposeError for what only a description refuses, at the places from which it comes. */
function checkDescription(
  description: Application,
  services: readonly Described[],
  given: readonly Given[],
  remarks: Remarks,
): void {
  const checked = validateApplication(description);
  if (checked.valid) return;
  for (const { pointer, message } of checked.problems) {
    const [, at, inner] = /^\/services\/(\d+)(.*)$/s.exec(pointer) ?? [];
    const path =
      at === undefined ? topPlace(pointer) : placeOf(inner ?? '', services[Number(at)], given[Number(at)]);
    remarks.problem(path, `is ${pointer} of the description, which ${message}`);
  }
  remarks.assertNone();
}

const topPlace = (pointer: string): Path =>
  OWN_FIELDS.includes(pointer.slice(1)) ? [EXTENSION, pointer.slice(1)] : ['services'];

/** The place of the value, or of the nearest one around it. */
function placeOf(pointer: string, service: Described | undefined, given: Given | undefined): Path {
  for (let rest = pointer; rest !== ''; rest = rest.slice(0, rest.lastIndexOf('/'))) {
    const path = service?.places.get(rest);
    if (path) return path;
  }
  return given?.path ?? [];
}
