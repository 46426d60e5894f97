/**
 * Owns the parameters of an application in the shop: whether one fits its description, which values it takes, and what
 * they change. Pure; where manifests come from is operations/shop-entries.ts's.
 */
import type { Application, ServiceDescription } from '../../../shared/application.ts';

export const parameterKinds = ['environment', 'command', 'service_count', 'resources'] as const;
export type ParameterKind = (typeof parameterKinds)[number];
export type ParameterType = 'int' | 'float' | 'string';

/** As a manifest has it, in the names used here. */
export interface DeclaredParameter {
  kind: ParameterKind;
  /** Of the variable, of the service, or for resources `<service>.memory` or `<service>.cores`. */
  name: string;
  readableName: string;
  description: string;
  type: ParameterType;
  /** null: what the description has. */
  default: string | null;
  min: number | null;
  max: number | null;
  step: number | null;
}

export interface Parameter extends DeclaredParameter {
  /** Kind and name: unique in its application, and what its value is submitted as. */
  key: string;
  default: string;
  /** Where in the description its value goes (RFC 6901). */
  pointers: readonly string[];
}

/** A value that can't be taken; `parameter` is null where it is about all of them. */
export interface ParameterProblem {
  parameter: string | null;
  message: string;
}

export type Fit = { parameter: Parameter } | { problem: string };

/** The parameter in its description, or why it has no place there. */
export function fitParameter(declared: DeclaredParameter, application: Application): Fit {
  const [place, ...more] = placesOf(declared, application);
  if (!place) return { problem: missingPlace(declared) };
  const { kind, name, min, max, step } = declared;
  if (min !== null && max !== null && min > max) return { problem: 'its min is more than its max' };
  if (step !== null && step <= 0) return { problem: 'its step must be more than 0' };
  const parameter: Parameter = {
    ...declared,
    type: typeOf(declared),
    key: `${kind}:${name}`,
    default: declared.default ?? place.value,
    pointers: [place, ...more].map(({ pointer }) => pointer),
  };
  const reading = readValue(parameter, parameter.default);
  return 'problem' in reading ? { problem: `its default ${reading.problem}` } : { parameter };
}

/** What of the resources of each service a user may set beyond what the manifest names: all that is reserved. */
export function resourceParameters(application: Application, given: readonly Parameter[]): Parameter[] {
  const names = new Set(given.filter(({ kind }) => kind === 'resources').map(({ name }) => name));
  return application.services.flatMap((service) =>
    RESOURCES.flatMap(({ resource, readable }) => {
      const name = `${service.name}.${resource}`;
      if (names.has(name) || service.resources[resource].min === null) return [];
      const fit = fitParameter(
        {
          kind: 'resources',
          name,
          readableName: `${readable} of ${service.name}`,
          description: 'What each instance reserves.',
          type: 'float',
          default: null,
          min: null,
          max: null,
          step: null,
        },
        application,
      );
      return 'parameter' in fit ? [fit.parameter] : [];
    }),
  );
}

/** The value as it goes into the description, or what is wrong with it, to be read after the parameter's name. */
export function readValue(
  parameter: Pick<Parameter, 'type' | 'default' | 'min' | 'max' | 'step'>,
  text: string,
): { value: string } | { problem: string } {
  const { type, min, max, step } = parameter;
  if (type === 'string') return { value: text };
  const value = text.trim();
  const number = Number(value);
  if (type === 'int' && !(WHOLE.test(value) && Number.isSafeInteger(number)))
    return { problem: 'must be a whole number' };
  if (type === 'float' && !(DECIMAL.test(value) && Number.isFinite(number)))
    return { problem: 'must be a number' };
  if (min !== null && number < min) return { problem: `must be at least ${min}` };
  if (max !== null && number > max) return { problem: `must be at most ${max}` };
  // Browsers count steps from the same place.
  const base = min ?? Number(parameter.default);
  if (step !== null && !isMultiple(number - base, step))
    return { problem: `must be ${base} or that and a multiple of ${step}` };
  return { value };
}

const WHOLE = /^[+-]?\d+$/;
/** Without two ways to read the same digits: a text of a megabyte is tried once. */
const DECIMAL = /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i;

/** Of 0.1 are 0.3 three, whatever floating point says. */
function isMultiple(difference: number, step: number): boolean {
  const steps = difference / step;
  return Math.abs(steps - Math.round(steps)) < 1e-6;
}

/** The description with these values, by the keys of their parameters; the default where there is none. Not validated yet. */
export function applyParameters(
  application: Application,
  parameters: readonly Parameter[],
  values: ReadonlyMap<string, string>,
): Application {
  const made = structuredClone(application);
  for (const parameter of parameters)
    setValue(made, parameter, values.get(parameter.key) ?? parameter.default);
  return made;
}

function setValue(application: Application, { kind, name }: Parameter, value: string): void {
  for (const service of application.services) {
    if (kind === 'environment') for (const pair of service.environment) if (pair[0] === name) pair[1] = value;
    if (kind === 'command' && service.name === name) service.command = value.trim() === '' ? null : value;
    if (kind === 'service_count' && service.name === name) setCount(service, Number(value));
    if (kind === 'resources') {
      const resource = resourceOf(service, name);
      if (resource) setReservation(service, resource, Number(value));
    }
  }
}

/** Where all were essential all stay so; else as many as before, and no more than there are. */
function setCount(service: ServiceDescription, count: number): void {
  const rigid = service.essential_count === service.total_count;
  service.essential_count = rigid ? count : Math.min(service.essential_count, count);
  service.total_count = count;
}

/** A max that was the min stays the min; any other is raised where the min would be beyond it. */
function setReservation({ resources }: ServiceDescription, resource: Resource, value: number): void {
  const range = resources[resource];
  if (range.max !== null) range.max = range.max === range.min ? value : Math.max(range.max, value);
  range.min = value;
}

type Resource = 'memory' | 'cores';
const RESOURCES: readonly { resource: Resource; readable: string }[] = [
  { resource: 'memory', readable: 'Memory' },
  { resource: 'cores', readable: 'Cores' },
];

const resourceOf = (service: ServiceDescription, name: string): Resource | undefined =>
  RESOURCES.find(({ resource }) => name === `${service.name}.${resource}`)?.resource;

/** Counts and bytes are whole numbers, whatever the manifest calls them. */
function typeOf({ kind, name, type }: DeclaredParameter): ParameterType {
  if (kind === 'service_count') return 'int';
  if (kind === 'resources') return name.endsWith('.memory') ? 'int' : 'float';
  return kind === 'command' ? 'string' : type;
}

/** Where the value goes, and what is there. */
function placesOf({ kind, name }: DeclaredParameter, application: Application): Place[] {
  return application.services.flatMap((service, at): Place[] => {
    const pointer = (path: string) => `/services/${at}/${path}`;
    const resource = kind === 'resources' ? resourceOf(service, name) : undefined;
    if (resource) {
      const { min } = service.resources[resource];
      return [{ pointer: pointer(`resources/${resource}`), value: min === null ? '' : String(min) }];
    }
    if (kind === 'environment') {
      return service.environment.flatMap(([variable, value], index) =>
        variable === name ? [{ pointer: pointer(`environment/${index}/1`), value }] : [],
      );
    }
    if (service.name !== name) return [];
    if (kind === 'command') return [{ pointer: pointer('command'), value: service.command ?? '' }];
    if (kind !== 'service_count') return [];
    const value = String(service.total_count);
    return ['total_count', 'essential_count', 'name'].map((path) => ({ pointer: pointer(path), value }));
  });
}

interface Place {
  pointer: string;
  value: string;
}

function missingPlace({ kind, name }: DeclaredParameter): string {
  if (kind === 'environment') return `no service of the description has the variable ${name}`;
  if (kind !== 'resources') return `the description has no service ${name}`;
  return `its name must be that of a service of the description with ".memory" or ".cores", not ${name}`;
}
