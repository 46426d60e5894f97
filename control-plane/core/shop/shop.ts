/**
 * Applications of the shop: who may see one, who may change which of its parameters, and the resulting
 * description. Pure.
 */

import { validateApplication } from '../../../shared/application.ts';
import { MAX_PROBLEMS, type Problem } from '../../../shared/application-problems.ts';
import type { Application } from '../../../shared/application-schema.ts';
import type { Role } from '../accounts/account.ts';
import { readValue } from './parameter-values.ts';
import {
  applyParameters,
  type Parameter,
  type ParameterProblem,
  resourceParameters,
} from './shop-parameters.ts';

export interface ShopEntry {
  /** `<folder>-<position in its manifest, from 0>`. */
  id: string;
  folder: string;
  category: string;
  name: string;
  application: Application;
  /** Markdown. */
  readme: string;
  /** A file of the folder. */
  logo: string | null;
  parameters: readonly Parameter[];
  /** Names of roles. */
  disabledFor: readonly string[];
}

/** A fault in the shop, for its administrators. */
export interface ShopProblem {
  /** The folder, and the application in it if the fault concerns a single one. */
  where: string;
  reason: string;
}

export const entryId = (folder: string, place: number): string => `${folder}-${place}`;

/** Folder and position in an id; undefined if the id is malformed. */
export function readEntryId(id: string): { folder: string; place: number } | undefined {
  const match = /^(.+)-(0|[1-9]\d{0,3})$/.exec(id);
  return match?.[1] === undefined ? undefined : { folder: match[1], place: Number(match[2]) };
}

export const isShownTo = ({ disabledFor }: Pick<ShopEntry, 'disabledFor'>, role: Role): boolean =>
  role.canAccessFullAppShop || !disabledFor.includes(role.name);

/** The parameters of the manifest and, for roles that may customise resources, all reserved resources. */
export const parametersFor = ({ application, parameters }: ShopEntry, role: Role): Parameter[] => [
  ...parameters,
  ...(role.canCustomizeResources ? resourceParameters(application, parameters) : []),
];

export const mayChange = (role: Role, { kind }: Pick<Parameter, 'kind'>): boolean =>
  kind !== 'resources' || role.canCustomizeResources;

/** The application with the submitted values, by parameter key, or the first problems with them. */
export function fillIn(
  entry: ShopEntry,
  role: Role,
  submitted: Readonly<Record<string, string>>,
): { application: Application } | { problems: ParameterProblem[] } {
  const parameters = parametersFor(entry, role);
  const byKey = new Map(parameters.map((one) => [one.key, one]));
  const values = new Map<string, string>();
  const problems: ParameterProblem[] = [];
  for (const [key, text] of Object.entries(submitted)) {
    if (problems.length === MAX_PROBLEMS) break;
    const parameter = byKey.get(key);
    const reading = parameter
      ? readValue(parameter, text)
      : { problem: 'is not a parameter of this application' };
    if ('problem' in reading) problems.push({ parameter: key, message: reading.problem });
    else if (parameter && !mayChange(role, parameter) && !isSame(parameter, reading.value))
      problems.push({
        parameter: key,
        message: `must stay ${parameter.default}: the role ${role.name} lacks "Choose resources" (can_customize_resources)`,
      });
    else values.set(key, reading.value);
  }
  if (problems.length > 0) return { problems };
  const validation = validateApplication(applyParameters(entry.application, parameters, values));
  if (validation.valid) return { application: validation.application };
  return { problems: validation.problems.map((problem) => attribute(problem, parameters)) };
}

const isSame = ({ type, default: standard }: Parameter, value: string): boolean =>
  type === 'string' ? value === standard : Number(value) === Number(standard);

/** Assigns a problem of the description to the parameter that set the value there. */
function attribute({ pointer, message }: Problem, parameters: readonly Parameter[]): ParameterProblem {
  const parameter = parameters.find(({ pointers }) =>
    pointers.some((one) => pointer === one || pointer.startsWith(`${one}/`)),
  );
  if (parameter) return { parameter: parameter.key, message };
  return { parameter: null, message: `${pointer || 'the description'} ${message}` };
}
