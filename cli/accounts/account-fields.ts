/** Users, roles and quotas on the command line: their options are the fields of the API. */
import { Option } from 'commander';
import type { Berth, Quota, Role, User } from '../../client/berth.ts';
import type { Accounts } from '../../client/resources.ts';
import { parseBytes, sizeText } from '../../shared/sizes.ts';
import { durationText, readDuration } from '../inputs/durations.ts';
import { idNamed } from '../inputs/named.ts';

export type Options = Readonly<Record<string, unknown>>;

type Value = string | number | boolean | null;

interface Type {
  /** As help shows it. */
  form: string;
  /** What it must be, in a sentence. */
  is: string;
  /** Undefined if the text has another form. */
  read(given: string, berth: Berth): Value | undefined | Promise<Value>;
}

interface Field {
  type: Type;
  meaning: string;
  /** Whether everything new must have it. */
  isRequired?: true;
  /** Whether it is a filter of the list. */
  isFilter?: true;
  /** Whether an update can take it away, by --no-NAME; what that means. */
  unset?: string;
}

export interface Kind<Item extends { id: number }> {
  name: 'user' | 'role' | 'quota';
  of(berth: Berth): Accounts<Item>;
  fields: Readonly<Record<Exclude<keyof Item, 'id'>, Field>>;
  /** Fields that are given, and never shown. */
  unseen?: Readonly<Record<string, Field>>;
  hasPassword: boolean;
  heads: readonly string[];
  row(item: Item, names: Names): string[];
}

/** Names of roles and quotas by their ids. */
export interface Names {
  role: ReadonlyMap<number, string>;
  quota: ReadonlyMap<number, string>;
}

const text: Type = { form: '<text>', is: 'a text', read: (given) => given };
const integer: Type = {
  form: '<number>',
  is: 'a whole number',
  read: (given) => (/^-?\d{1,15}$/.test(given) ? Number(given) : undefined),
};
const decimal: Type = {
  form: '<number>',
  is: 'a number with two decimals at most',
  read: (given) => (/^\d{1,12}(\.\d{1,2})?$/.test(given) ? Number(given) : undefined),
};
const bytes: Type = { form: '<size>', is: 'a size such as 64GiB', read: parseBytes };
const duration: Type = { form: '<time>', is: 'a time such as 90m', read: readDuration };
const flag: Type = {
  form: '<true|false>',
  is: 'true or false',
  read: (given) => ({ true: true, false: false })[given],
};
const role: Type = {
  form: '<id|name>',
  is: 'a role',
  read: (given, berth) => idNamed(berth.roles, given),
};
const quota: Type = {
  form: '<id|name>',
  is: 'a quota',
  read: (given, berth) => idNamed(berth.quotas, given),
};

const right = (meaning: string): Field => ({ type: flag, meaning: `may ${meaning}` });
const cap = (type: Type, meaning: string): Field => ({
  type,
  meaning: `${meaning} at once; 0: no limit`,
  isRequired: true,
});

export const users: Kind<User> = {
  name: 'user',
  of: (berth) => berth.users,
  fields: {
    username: {
      type: text,
      meaning: 'the name, with which the user logs in',
      isRequired: true,
      isFilter: true,
    },
    email: { type: text, meaning: 'the address for mail', isFilter: true },
    role_id: { type: role, meaning: 'what the user may do', isRequired: true, isFilter: true },
    quota_id: { type: quota, meaning: 'what the user may use', isRequired: true, isFilter: true },
    auth_source: {
      type: text,
      meaning: 'how the user logs in: internal (by default), ldap or oidc',
      isFilter: true,
    },
    fs_uid: { type: integer, meaning: 'the user id in file systems' },
    priority: { type: integer, meaning: 'higher goes first in the queue', isFilter: true },
    enabled: { type: flag, meaning: 'may log in', isFilter: true },
    subject: {
      type: text,
      meaning: 'who the user is at the provider of the sign-on',
      unset: 'unlink the user from the provider',
    },
  },
  unseen: {
    issuer: { type: text, meaning: 'the provider that the subject is meant for, to check the setting' },
  },
  hasPassword: true,
  heads: ['ID', 'NAME', 'EMAIL', 'ROLE', 'QUOTA', 'ENABLED'],
  row: (one, { role: roleNames, quota: quotaNames }) => [
    String(one.id),
    one.username,
    one.email,
    roleNames.get(one.role_id) ?? String(one.role_id),
    quotaNames.get(one.quota_id) ?? String(one.quota_id),
    String(one.enabled),
  ],
};

export const roles: Kind<Role> = {
  name: 'role',
  of: (berth) => berth.roles,
  fields: {
    name: { type: text, meaning: 'the name', isRequired: true, isFilter: true },
    can_change_config: right('manage users, roles, quotas and hosts'),
    can_delete_executions: right('delete executions'),
    can_see_status: right('see the cluster and its hosts'),
    can_access_full_app_shop: right('use the whole app shop'),
    can_operate_others: right("see and change others' executions"),
    can_customize_resources: right('set memory and cores of applications in the shop'),
    can_access_api: right('use Berth at all'),
    can_exec: right('run commands in services, and reach their ports'),
  },
  hasPassword: false,
  heads: ['ID', 'NAME', 'RIGHTS'],
  row: ({ id, name, ...rights }) => [
    String(id),
    name,
    Object.entries(rights)
      .flatMap(([right, isGiven]) => (isGiven ? [right] : []))
      .join(', '),
  ],
};

const NO_LIMIT = 'no limit';

export const quotas: Kind<Quota> = {
  name: 'quota',
  of: (berth) => berth.quotas,
  fields: {
    name: { type: text, meaning: 'the name', isRequired: true, isFilter: true },
    concurrent_executions: cap(integer, 'executions'),
    memory: cap(bytes, 'memory, in bytes or with a unit such as 64GiB,'),
    cores: cap(decimal, 'cores, such as 0.5'),
    time_limit: { type: duration, meaning: 'how long an execution lasts by default; 0: for ever' },
    max_time_limit: { type: duration, meaning: 'the longest time limit of an execution; 0: any or none' },
  },
  hasPassword: false,
  heads: ['ID', 'NAME', 'EXECUTIONS', 'MEMORY', 'CORES', 'TIME LIMIT', 'LONGEST'],
  row: (one) => [
    String(one.id),
    one.name,
    String(one.concurrent_executions || NO_LIMIT),
    one.memory === 0 ? NO_LIMIT : sizeText(one.memory),
    String(one.cores || NO_LIMIT),
    ...[one.time_limit, one.max_time_limit].map((limitS) => (limitS ? durationText(limitS) : NO_LIMIT)),
  ],
};

const optionOf = (name: string, { type, meaning }: Field): Option =>
  new Option(`--${name.replaceAll('_', '-')} ${type.form}`, meaning);

const fieldsOf = <Item extends { id: number }>({
  fields,
  unseen,
}: Kind<Item>): [name: string, field: Field][] => Object.entries<Field>({ ...fields, ...unseen });

export function optionsOf<Item extends { id: number }>(
  kind: Kind<Item>,
  command: 'ls' | 'create' | 'update',
): Option[] {
  const wanted = fieldsOf(kind).filter(([, { isFilter }]) => command !== 'ls' || isFilter);
  const unset = command === 'update' ? wanted.filter(([, field]) => field.unset !== undefined) : [];
  return [
    ...wanted.map(([name, field]) =>
      optionOf(name, field).makeOptionMandatory(command === 'create' && field.isRequired === true),
    ),
    ...unset.map(([name, field]) => new Option(`--no-${name}`, field.unset)),
  ];
}

/** The fields that were given. Throws if one has another form. */
export async function valuesIn<Item extends { id: number }>(
  kind: Kind<Item>,
  options: Options,
  berth: Berth,
): Promise<Record<string, Value>> {
  const values: Record<string, Value> = {};
  for (const [name, field] of fieldsOf(kind)) {
    const option = optionOf(name, field);
    const given = options[option.attributeName()];
    if (given === false && field.unset !== undefined) values[name] = null;
    if (typeof given !== 'string') continue;
    const value = await field.type.read(given, berth);
    if (value === undefined) throw new Error(`${option.long}: ${given} is not ${field.type.is}.`);
    values[name] = value;
  }
  return values;
}
