/**
 * Parameters of an application in the shop: whether one matches the description, and what its value changes
 * there. Pure; operations/shop/shop-manifest.ts parses manifests.
 */
import type { Application, ServiceDescription } from '../../../shared/application-schema.ts';
import { type ParameterType, readValue } from './parameter-values.ts';

export const parameterKinds = ['environment', 'command', 'service_count', 'resources'] as const;
export type ParameterKind = (typeof parameterKinds)[number];

/** A parameter as its manifest declares it, with this program's names. */
export interface DeclaredParameter {
  kind: ParameterKind;
  /** The name of a variable or a service, or for resources `<service>.memory` or `<service>.cores`. */
  name: string;
  readableName: string;
  description: string;
  type: ParameterType;
  /** null: the value in the description. */
  default: string | null;
  min: number | null;
  max: number | null;
  step: number | null;
}

export interface Parameter extends DeclaredParameter {
  /** `<kind>:<name>`: unique in its application, and the key of the submitted value. */
  key: string;
  default: string;
  /** Where its value goes in the description (RFC 6901). */
  pointers: readonly string[];
}

/** A value that is refused; `parameter` is null if the problem concerns no single parameter. */
export interface ParameterProblem {
  parameter: string | null;
  message: string;
}

export type Fit = { parameter: Parameter } | { problem: string };

/** The parameter with its places in the description, or why it is left out (W63). */
export function fitParameter(declared: DeclaredParameter, application: Application): Fit {
  const [target, ...more] = targetsOf(declared, application);
  if (!target) return { problem: missingTarget(declared) };
  const { kind, name, min, max, step } = declared;
  if (min !== null && max !== null && min > max)
    return { problem: `its min (${min}) is greater than its max (${max})` };
  if (step !== null && step <= 0) return { problem: `its step must be greater than 0, not ${step}` };
  const parameter: Parameter = {
    ...declared,
    type: typeOf(declared),
    key: `${kind}:${name}`,
    default: declared.default ?? target.value,
    pointers: [target, ...more].map(({ pointer }) => pointer),
  };
  const reading = readValue(parameter, parameter.default);
  return 'problem' in reading ? { problem: `its default ${reading.problem}` } : { parameter };
}

/**
 * Parameters for all reserved resources that the manifest does not name, for users who may customise
 * resources (W69).
 */
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

/**
 * The description with these values, by parameter key; a parameter without a value takes its default. The
 * result is not validated.
 */
export function applyParameters(
  application: Application,
  parameters: readonly Parameter[],
  values: ReadonlyMap<string, string>,
): Application {
  const result = structuredClone(application);
  for (const parameter of parameters)
    setValue(result, parameter, values.get(parameter.key) ?? parameter.default);
  return result;
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

/** If all instances were essential, all stay essential; otherwise as many as before, up to the new count. */
function setCount(service: ServiceDescription, count: number): void {
  const allEssential = service.essential_count === service.total_count;
  service.essential_count = allEssential ? count : Math.min(service.essential_count, count);
  service.total_count = count;
}

/** A max equal to the min stays equal to it; any other max is raised if the new min would exceed it. */
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

/** Counts and bytes are whole numbers, whatever type the manifest declares. */
function typeOf({ kind, name, type }: DeclaredParameter): ParameterType {
  if (kind === 'service_count') return 'int';
  if (kind === 'resources') return name.endsWith('.memory') ? 'int' : 'float';
  return kind === 'command' ? 'string' : type;
}

/** Where the value goes in the description, with the present value. */
function targetsOf({ kind, name }: DeclaredParameter, application: Application): Target[] {
  return application.services.flatMap((service, index): Target[] => {
    const pointer = (path: string) => `/services/${index}/${path}`;
    const resource = kind === 'resources' ? resourceOf(service, name) : undefined;
    if (resource) {
      const { min } = service.resources[resource];
      return [{ pointer: pointer(`resources/${resource}`), value: min === null ? '' : String(min) }];
    }
    if (kind === 'environment') {
      return service.environment.flatMap(([variable, value], position) =>
        variable === name ? [{ pointer: pointer(`environment/${position}/1`), value }] : [],
      );
    }
    if (service.name !== name) return [];
    if (kind === 'command') return [{ pointer: pointer('command'), value: service.command ?? '' }];
    if (kind !== 'service_count') return [];
    const value = String(service.total_count);
    return ['total_count', 'essential_count', 'name'].map((path) => ({ pointer: pointer(path), value }));
  });
}

interface Target {
  pointer: string;
  value: string;
}

function missingTarget({ kind, name }: DeclaredParameter): string {
  if (kind === 'environment') return `no service in the description has the variable ${name}`;
  if (kind !== 'resources') return `the description has no service ${name}`;
  return `its name must be <service>.memory or <service>.cores of a service in the description, not ${name}`;
}
