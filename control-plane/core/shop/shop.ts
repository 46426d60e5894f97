/** Owns what an application of the shop is, who sees it and may change what of it, and the description made of it. Pure. */
import { type Application, type Problem, validateApplication } from '../../../shared/application.ts';
import type { Role } from '../accounts/account.ts';
import {
  applyParameters,
  type Parameter,
  type ParameterProblem,
  readValue,
  resourceParameters,
} from './shop-parameters.ts';

export interface ShopEntry {
  /** `<folder>-<place in its manifest, from 0>`. */
  id: string;
  folder: string;
  category: string;
  name: string;
  application: Application;
  /** Markdown. */
  readme: string;
  /** File of the folder. */
  logo: string | null;
  parameters: readonly Parameter[];
  /** Names of roles. */
  disabledFor: readonly string[];
}

/** Something that is wrong with the shop, for whoever keeps it. */
export interface ShopProblem {
  /** The folder, and the application in it where it is about one. */
  where: string;
  reason: string;
}

export const entryId = (folder: string, place: number): string => `${folder}-${place}`;

/** Folder and place of an id; undefined where it is none. */
export function readEntryId(id: string): { folder: string; place: number } | undefined {
  const match = /^(.+)-(0|[1-9]\d{0,3})$/.exec(id);
  return match?.[1] === undefined ? undefined : { folder: match[1], place: Number(match[2]) };
}

export const isShownTo = ({ disabledFor }: Pick<ShopEntry, 'disabledFor'>, role: Role): boolean =>
  role.canAccessFullAppShop || !disabledFor.includes(role.name);

/** Those of the manifest, and for whoever may set resources all that is reserved. */
export const parametersFor = ({ application, parameters }: ShopEntry, role: Role): Parameter[] => [
  ...parameters,
  ...(role.canCustomizeResources ? resourceParameters(application, parameters) : []),
];

export const mayChange = (role: Role, { kind }: Pick<Parameter, 'kind'>): boolean =>
  kind !== 'resources' || role.canCustomizeResources;

/** The application with what was submitted for its parameters, by their keys, or everything that is wrong with that. */
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
    const parameter = byKey.get(key);
    const reading = parameter
      ? readValue(parameter, text)
      : { problem: 'is no parameter of this application' };
    if ('problem' in reading) problems.push({ parameter: key, message: reading.problem });
    else if (parameter && !mayChange(role, parameter) && !isSame(parameter, reading.value))
      problems.push({ parameter: key, message: `can't be changed by the role ${role.name}` });
    else values.set(key, reading.value);
  }
  if (problems.length > 0) return { problems };
  const validation = validateApplication(applyParameters(entry.application, parameters, values));
  if (validation.valid) return { application: validation.application };
  return { problems: validation.problems.map((problem) => blame(problem, parameters)) };
}

const isSame = ({ type, default: standard }: Parameter, value: string): boolean =>
  type === 'string' ? value === standard : Number(value) === Number(standard);

/** A problem of the description belongs to the parameter that made the place it is at. */
function blame({ pointer, message }: Problem, parameters: readonly Parameter[]): ParameterProblem {
  const cause = parameters.find(({ pointers }) =>
    pointers.some((one) => pointer === one || pointer.startsWith(`${one}/`)),
  );
  if (cause) return { parameter: cause.key, message };
  return { parameter: null, message: `${pointer || 'the description'} ${message}` };
}
