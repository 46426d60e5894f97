/**
 * Owns the table of who may do what: each endpoint with what it asks of who calls, written down from the contract and
 * SPEC.md (H200) and not taken from the program. A new endpoint gets its rows here.
 */
import { expect } from 'vitest';
import type { Actor } from './actors.ts';
import type { ApiClient } from './api-client.ts';
import { application, service } from './descriptions.ts';
import { newAgentKey } from './enrolment.ts';
import type { Group } from './hosts.ts';
import { basic, type HttpClient, type Reply } from './http-client.ts';
import type { Flag } from './users.ts';

/** `anyone` needs no credentials. Else the flags it takes, in this order, with the answer where one is missing. */
type Needs = 'anyone' | readonly (readonly [Flag, number])[];

interface Question {
  path: string;
  body?: object;
  /** Where a cookie is not enough. */
  headers?: Record<string, string>;
}

export interface Row {
  /** As the app lists it, beneath the API's path unless it begins with `/`. */
  endpoint: string;
  /** Whose object it is about, or what of it. */
  what: string;
  group?: Group;
  needs: Needs;
  /** Whether an answer has no end, so that only its head is looked at. */
  endless?: true;
  /** Makes what one actor asks about, while all may use the API; resolves to its id. */
  prepare?(world: World, actor: Actor): Promise<number>;
  ask(id: number, actor: Actor, world: World): Question;
  /** Whether it has happened: true after a success, false after a refusal. */
  happened?(world: World, id: number, actor: Actor): Promise<boolean>;
}

/** What is there before anybody asks. */
export interface World {
  admin: ApiClient;
  /** Makes a host whose agent never comes; resolves to its id. */
  makeHost(name: string): Promise<number>;
  stranger: Actor;
  /** An ended execution of each actor, by name. */
  ended: ReadonlyMap<string, Ended>;
}

export interface Ended {
  id: number;
  services: number[];
}

const KNOWN: Needs = [['can_access_api', 403]];
const CONFIG: Needs = [...KNOWN, ['can_change_config', 403]];
const DELETER: Needs = [...KNOWN, ['can_delete_executions', 403]];
const others = (needs: Exclude<Needs, 'anyone'>, answer = 404): Needs => [
  ...needs,
  ['can_operate_others', answer],
];

const submission = (name: string) => ({ name, application: application(service()) });
export const submit = async (http: HttpClient): Promise<number> => {
  const reply = await http.post('execution', submission('matrix'));
  expect(reply.status, reply.text).toBe(200);
  return reply.json<{ execution_id: number }>().execution_id;
};
const found = async (asked: Promise<Reply>): Promise<boolean> => (await asked).status === 200;

const publicRows: Row[] = [
  { endpoint: 'GET info', what: 'public', needs: 'anyone', ask: () => ({ path: 'info' }) },
  {
    endpoint: 'POST app_validate',
    what: 'public',
    needs: 'anyone',
    ask: () => ({ path: 'app_validate', body: application(service()) }),
  },
  {
    endpoint: 'GET statistics/scheduler',
    what: 'public',
    needs: 'anyone',
    ask: () => ({ path: 'statistics/scheduler' }),
  },
  {
    endpoint: 'GET discovery/by_group/:id/:group',
    what: 'public',
    needs: 'anyone',
    ask: (_, __, world) => ({ path: `discovery/by_group/${endedOf(world.stranger, world).id}/main` }),
  },
  ...['/agent/install.sh', '/agent/berth-agent.mjs', '/agent/berth-agent.mjs.sha256'].map(
    (path): Row => ({ endpoint: `GET ${path}`, what: 'public', needs: 'anyone', ask: () => ({ path }) }),
  ),
  { endpoint: 'GET /healthz', what: 'public', needs: 'anyone', ask: () => ({ path: '/healthz' }) },
  { endpoint: 'GET /readyz', what: 'public', needs: 'anyone', ask: () => ({ path: '/readyz' }) },
  { endpoint: 'GET /openapi.json', what: 'public', needs: 'anyone', ask: () => ({ path: '/openapi.json' }) },
  { endpoint: 'GET /docs', what: 'public', needs: 'anyone', ask: () => ({ path: '/docs' }) },
  {
    endpoint: 'GET /docs/initialise.js',
    what: 'public',
    needs: 'anyone',
    ask: () => ({ path: '/docs/initialise.js' }),
  },
  {
    endpoint: 'GET /docs/:name',
    what: 'public',
    needs: 'anyone',
    ask: () => ({ path: '/docs/swagger-ui.css' }),
  },
];

/** Anonymous has nothing of its own, and asks about the stranger's. */
export const endedOf = ({ name }: Actor, { ended, stranger }: World) =>
  ended.get(name) ?? ended.get(stranger.name) ?? { id: 0, services: [] };

/** Reading what has an owner: one's own and another's. */
const reading = (endpoint: string, path: (ended: Ended) => string): Row[] => [
  { endpoint, what: 'own', needs: KNOWN, ask: (_, actor, world) => ({ path: path(endedOf(actor, world)) }) },
  {
    endpoint,
    what: "another's",
    needs: others(KNOWN),
    ask: (_, __, world) => ({ path: path(endedOf(world.stranger, world)) }),
  },
];

/** Ending an execution of one's own and of another. */
const ending = (
  endpoint: string,
  needs: Exclude<Needs, 'anyone'>,
  path: string,
  happened: NonNullable<Row['happened']>,
): Row[] => {
  const row = { endpoint, ask: (id: number) => ({ path: `${path}/${id}` }), happened };
  const ownerOf = (actor: Actor, stranger: Actor) => (actor.userId === '' ? stranger : actor);
  return [
    { ...row, what: 'own', needs, prepare: ({ stranger }, actor) => submit(ownerOf(actor, stranger).http) },
    { ...row, what: "another's", needs: others(needs), prepare: ({ stranger }) => submit(stranger.http) },
  ];
};

/** Makes a host by a token of the administrator's, which is all that it asks for. */
function registrationRow(): Row {
  const tokens: string[] = [];
  return {
    endpoint: 'POST /agent/v1/register',
    what: 'by token',
    needs: 'anyone',
    prepare: async ({ admin }) => {
      const reply = await admin.http.post('host/token', {});
      expect(reply.status, reply.text).toBe(200);
      return tokens.push(reply.json<{ token: string }>().token) - 1;
    },
    ask: (id, { name }) => ({
      path: '/agent/v1/register',
      headers: { authorization: `Bearer ${tokens[id]}` },
      body: {
        deployment: 'test',
        name: `of.${name.replace(/\W/g, '-')}`,
        publicKey: newAgentKey().publicKey,
      },
    }),
  };
}

const executionRows: Row[] = [
  { endpoint: 'GET login', what: 'own', needs: KNOWN, ask: () => ({ path: 'login' }) },
  {
    endpoint: 'POST execution',
    what: 'own',
    needs: KNOWN,
    ask: (_, { name }) => ({ path: 'execution', body: submission(`submitted by ${name}`) }),
    happened: async ({ admin }, _, { name }) =>
      Object.values(await admin.list()).some((one) => one.name === `submitted by ${name}`),
  },
  {
    endpoint: 'GET execution',
    what: 'own',
    needs: KNOWN,
    ask: (_, { userId }) => ({ path: `execution?user_id=${userId || 1}` }),
  },
  {
    endpoint: 'GET execution',
    what: "another's",
    needs: others(KNOWN, 403),
    ask: (_, __, { stranger }) => ({ path: `execution?user_id=${stranger.userId}` }),
  },
  ...reading('GET execution/:id', ({ id }) => `execution/${id}`),
  ...reading('GET execution/endpoints/:id', ({ id }) => `execution/endpoints/${id}`),
  ...reading('GET execution/:id/explain', ({ id }) => `execution/${id}/explain`),
  { endpoint: 'GET events', what: 'own', needs: KNOWN, endless: true, ask: () => ({ path: 'events' }) },
  {
    endpoint: 'POST execution/explain',
    what: 'own',
    needs: KNOWN,
    ask: (_, { name }) => ({ path: 'execution/explain', body: submission(`explained to ${name}`) }),
  },
  ...reading('GET service/:id', ({ services }) => `service/${services[0]}`),
  ...reading('GET service/logs/:id', ({ services }) => `service/logs/${services[0]}`),
  ...ending(
    'DELETE execution/:id',
    KNOWN,
    'execution',
    async ({ admin }, id) => (await admin.execution(id)).status === 'terminated',
  ),
  ...ending(
    'DELETE execution/delete/:id',
    DELETER,
    'execution/delete',
    async ({ admin }, id) => !(await found(admin.http.get(`execution/${id}`))),
  ),
];

type Kind = 'user' | 'role' | 'quota';

const NEW: Record<Kind, (name: string) => Record<string, unknown>> = {
  user: (name) => ({ username: name, role_id: 3, quota_id: 1 }),
  role: (name) => ({ name }),
  quota: (name) => ({ name, concurrent_executions: 1, memory: 1, cores: 1 }),
};
const nameOf = (kind: Kind) => (kind === 'user' ? 'username' : 'name');

/** The five endpoints of a kind, on objects that are nobody's own. */
function accountRows(kind: Kind): Row[] {
  const row = { group: 'B' as const, needs: CONFIG, what: kind === 'user' ? "another's" : 'any' };
  const isThere = (world: World, name: string) =>
    world.admin.http
      .get(`${kind}?${nameOf(kind)}=${encodeURIComponent(name)}`)
      .then((reply) => Object.keys(reply.json()).length > 0);
  const made =
    (verb: string) =>
    async ({ admin }: World, { name }: Actor) => {
      const reply = await admin.http.post(kind, NEW[kind](`${verb} by ${name}`));
      expect(reply.status, reply.text).toBe(200);
      return Number(reply.json()[`${kind}_id`]);
    };
  return [
    { ...row, endpoint: `GET ${kind}`, ask: () => ({ path: kind }) },
    {
      ...row,
      endpoint: `POST ${kind}`,
      ask: (_, { name }) => ({ path: kind, body: NEW[kind](`made by ${name}`) }),
      happened: (world, _, { name }) => isThere(world, `made by ${name}`),
    },
    { ...row, endpoint: `GET ${kind}/:id`, ask: () => ({ path: `${kind}/1` }) },
    {
      ...row,
      endpoint: `POST ${kind}/:id`,
      prepare: made('old'),
      ask: (id, { name }) => ({ path: `${kind}/${id}`, body: { [nameOf(kind)]: `new by ${name}` } }),
      happened: (world, _, { name }) => isThere(world, `new by ${name}`),
    },
    {
      ...row,
      endpoint: `DELETE ${kind}/:id`,
      prepare: made('doomed'),
      ask: (id) => ({ path: `${kind}/${id}` }),
      happened: async ({ admin }, id) => !(await found(admin.http.get(`${kind}/${id}`))),
    },
  ];
}

/** Users on themselves; nobody asks about the stranger, and the last row is the last, since its users are gone then. */
function ownUserRows(): Row[] {
  const row = {
    group: 'B' as const,
    prepare: async ({ stranger }: World, { userId }: Actor) => Number(userId || stranger.userId),
  };
  const path = (id: number) => `user/${id}`;
  const readBy = async ({ admin }: World, id: number) =>
    (await admin.http.get(path(id))).json<{ user: Record<string, unknown> }>().user;
  return [
    { ...row, endpoint: 'GET user/:id', what: 'own', needs: KNOWN, ask: (id) => ({ path: path(id) }) },
    {
      ...row,
      endpoint: 'POST user/:id',
      what: 'own e-mail',
      needs: KNOWN,
      ask: (id) => ({ path: path(id), body: { email: 'new' } }),
      happened: async (world, id) => (await readBy(world, id)).email === 'new',
    },
    {
      ...row,
      endpoint: 'POST user/:id',
      what: 'own priority',
      needs: CONFIG,
      ask: (id) => ({ path: path(id), body: { priority: 7 } }),
      happened: async (world, id) => (await readBy(world, id)).priority === 7,
    },
    {
      ...row,
      endpoint: 'DELETE user/:id',
      what: 'own',
      needs: CONFIG,
      ask: (id) => ({ path: path(id) }),
      happened: async ({ admin }, id) => !(await found(admin.http.get(path(id)))),
    },
  ];
}

/** One's own tokens; nobody has none. */
function tokenRows(): Row[] {
  const pairs: { access_token: string; refresh_token: string }[] = [];
  const passwordOf = ({ name, userId }: Actor) => (userId === '' ? {} : basic(name, 'secret'));
  const grant = (type: string) => ({ path: 'oauth/token', body: { grant_type: type } });
  const row = {
    group: 'A' as const,
    needs: KNOWN,
    prepare: async ({ stranger }: World, actor: Actor) => {
      const { path, body } = grant('password');
      const owner = actor.userId === '' ? stranger : actor;
      const reply = await owner.http.with(passwordOf(owner)).post(path, body);
      expect(reply.status, reply.text).toBe(200);
      return pairs.push(reply.json()) - 1;
    },
  };
  return [
    {
      ...row,
      endpoint: 'POST oauth/token',
      what: 'by password',
      ask: (_, actor) => ({ ...grant('password'), headers: passwordOf(actor) }),
    },
    {
      ...row,
      endpoint: 'POST oauth/token',
      what: 'by refresh token',
      ask: (id, { userId }) => {
        const authorization = `Bearer ${userId === '' ? 'none' : pairs[id]?.refresh_token}`;
        return { ...grant('refresh_token'), headers: { authorization } };
      },
    },
    {
      ...row,
      endpoint: 'DELETE oauth/revoke/:token',
      what: 'own',
      ask: (id) => ({ path: `oauth/revoke/${pairs[id]?.access_token}` }),
    },
  ];
}

/** Hosts are nobody's own. */
const hostRows = (): Row[] => {
  const row = {
    what: 'any',
    needs: CONFIG,
    prepare: ({ makeHost }: World, { name }: Actor) => makeHost(`host-${++hosts}-of-${name}`),
  };
  const path = (id: number) => `host/${id}`;
  return [
    registrationRow(),
    {
      endpoint: 'POST host/token',
      what: 'any',
      needs: CONFIG,
      ask: () => ({ path: 'host/token', body: { labels: ['gpu'] } }),
    },
    { endpoint: 'GET host', what: 'any', needs: CONFIG, ask: () => ({ path: 'host' }) },
    { ...row, endpoint: 'GET host/:id', ask: (id) => ({ path: path(id) }) },
    {
      ...row,
      endpoint: 'POST host/:id',
      ask: (id) => ({ path: path(id), body: { labels: ['new'] } }),
      happened: async ({ admin }, id) => {
        const { host } = (await admin.http.get(path(id))).json<{ host: { admin_labels: string[] } }>();
        return host.admin_labels.includes('new');
      },
    },
    {
      ...row,
      endpoint: 'DELETE host/:id',
      ask: (id) => ({ path: path(id) }),
      happened: async ({ admin }, id) => !(await found(admin.http.get(path(id)))),
    },
  ];
};
let hosts = 0;

export const TABLE: Row[] = [
  ...publicRows,
  ...executionRows,
  ...hostRows(),
  ...tokenRows(),
  ...accountRows('user'),
  ...accountRows('role'),
  ...accountRows('quota'),
  ...ownUserRows(),
];

/** The status that an actor gets. */
export function expectedOf({ needs }: Row, { flags }: Actor): number {
  if (needs === 'anyone') return 200;
  if (!flags) return 401;
  return needs.find(([flag]) => !flags.includes(flag))?.[1] ?? 200;
}
