/** Names that exist at present, for completion: executions, hosts, accounts, tokens and contexts. */
import type { Berth } from '../../client/berth.ts';
import type { Candidate } from './place.ts';

/** Most names of one kind that are offered. */
export const MAX_NAMES = 200;

type Names = (berth: Berth, operands: readonly string[]) => Promise<Candidate[]>;

/** By the name of the argument, or of the value of an option. */
const NAMES: Readonly<Record<string, Names>> = {
  async id(berth) {
    const executions = await berth.executions({ limit: MAX_NAMES });
    return executions.map(({ id, name, status }) => ({
      value: String(id),
      description: `${name} (${status})`,
    }));
  },
  async service(berth, [id = '']) {
    const { services } = await berth.execution(Number(id));
    const all = await Promise.all(services.slice(0, MAX_NAMES).map((service) => berth.service(service)));
    return all.map(({ name, status }) => ({ value: name, description: status }));
  },
  host: async ({ hosts }) =>
    (await hosts.list()).map(({ name: value, state: description }) => ({ value, description })),
  user: async ({ users }) => (await users.list()).map(({ username, email }) => named(username, email)),
  role: async ({ roles }) => (await roles.list()).map(({ name }) => named(name)),
  quota: async ({ quotas }) => (await quotas.list()).map(({ name }) => named(name)),
  application: async ({ shop }) => (await shop.list()).map(({ id, name }) => named(id, name)),
  token: async ({ tokens }) =>
    (await tokens.list()).map(({ name, scopes }) => named(name, scopes.join(', '))),
};

const named = (value: string, description = ''): Candidate => ({ value, description });

export const hasNames = (kind: string): boolean => Object.hasOwn(NAMES, kind);

/** Throws if they can't be read. */
export const namesOf: (kind: string, ...rest: Parameters<Names>) => Promise<Candidate[]> = async (
  kind,
  ...rest
) => (await NAMES[kind]?.(...rest))?.slice(0, MAX_NAMES) ?? [];
