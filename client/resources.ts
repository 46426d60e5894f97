/**
 * What the API lists, reads and changes by id: hosts, users, roles, quotas, tokens, secrets, the app shop
 * and the audit log.
 */
import type {
  AgentUpdate,
  Application,
  AuditEntry,
  Host,
  HostChanges,
  HostDetail,
  HostRemoval,
  HostUsage,
  JoinToken,
  JoinTokenFields,
  NewPersonalToken,
  PersonalToken,
  PersonalTokenFields,
  RegistryCredentials,
  Secret,
  SecretEncryption,
  ShopEntry,
  ShopEntryDetail,
} from './api-types.ts';
import type { Method } from './call.ts';

/** Sends requests. Each resolves to the text of its answer. */
export interface Requests {
  ask(method: Method, path: string, body?: unknown): Promise<string>;
  /** A POST that makes something, once even if the connection breaks. */
  make(path: string, body: unknown): Promise<string>;
}

export class Collection<Item extends { id: number }, Changes extends object = object, Detail = Item> {
  /** Its name in paths and answers, such as `host`. */
  readonly kind: string;
  /** The field with the name of an item. */
  readonly nameField: string;
  protected readonly requests: Requests;

  constructor(kind: string, requests: Requests, nameField = 'name') {
    this.kind = kind;
    this.nameField = nameField;
    this.requests = requests;
  }

  /** Items in the order of their ids. `filter`: fields with the values that are wanted. */
  async list(filter: Readonly<Record<string, unknown>> = {}): Promise<Item[]> {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(filter)) query.set(name, String(value));
    const all = JSON.parse(await this.requests.ask('GET', `${this.kind}?${query}`)) as Record<string, Item>;
    return Object.values(all).sort((one, other) => one.id - other.id);
  }

  async named(name: string): Promise<Item | undefined> {
    return (await this.list({ [this.nameField]: name }))[0];
  }

  async get(id: number): Promise<Detail> {
    const answer = JSON.parse(await this.requests.ask('GET', `${this.kind}/${id}`)) as Record<string, Detail>;
    return answer[this.kind] as Detail;
  }

  /** Changes these fields, and no others. */
  async update(id: number, changes: Changes): Promise<void> {
    await this.requests.ask('POST', `${this.kind}/${id}`, changes);
  }
}

/** Users, roles or quotas. */
export class Accounts<
  Item extends { id: number },
  Fields extends object = object,
  Changes extends object = object,
> extends Collection<Item, Changes> {
  /** Resolves to the id. */
  async create(fields: Fields): Promise<number> {
    const answer = JSON.parse(await this.requests.make(this.kind, fields)) as Record<string, number>;
    return answer[`${this.kind}_id`] as number;
  }

  async remove(id: number): Promise<void> {
    await this.requests.ask('DELETE', `${this.kind}/${id}`);
  }
}

export class Hosts extends Collection<Host, HostChanges, HostDetail> {
  constructor(requests: Requests) {
    super('host', requests);
  }

  /** Elastic services leave the host; with `force` essential ones too. */
  drain(id: number, { force = false } = {}): Promise<void> {
    return this.update(id, { schedulable: false, ...(force && { force }) });
  }

  /** The host takes new services again. */
  resume(id: number): Promise<void> {
    return this.update(id, { schedulable: true });
  }

  /** `force`: also a disconnected host that is not lost yet. */
  async remove(id: number, { force = false } = {}): Promise<HostRemoval> {
    return JSON.parse(
      await this.requests.ask('DELETE', `host/${id}${force ? '?force=true' : ''}`),
    ) as HostRemoval;
  }

  /** What was reserved and in use over the last hour. */
  async usage(id: number): Promise<HostUsage> {
    return JSON.parse(await this.requests.ask('GET', `host/${id}/usage`)) as HostUsage;
  }

  /** Requests that the host's agent updates itself, and does not wait for that (client/agent-updates.ts). */
  async requestUpdate(id: number): Promise<AgentUpdate> {
    return JSON.parse(await this.requests.ask('POST', `host/${id}/update`)) as AgentUpdate;
  }

  /** A token with which one agent can join as one host. It cannot be read again. */
  async createToken(fields: JoinTokenFields): Promise<JoinToken> {
    return JSON.parse(await this.requests.ask('POST', 'host/token', fields)) as JoinToken;
  }
}

/** Personal access tokens, by default the user's own. */
export class PersonalTokens extends Collection<PersonalToken> {
  constructor(requests: Requests) {
    super('token', requests);
  }

  override async named(name: string): Promise<PersonalToken | undefined> {
    return (await this.list()).find((token) => token.name === name);
  }

  /** The token cannot be read again. */
  async create(fields: PersonalTokenFields): Promise<NewPersonalToken> {
    return JSON.parse(await this.requests.make('token', fields)) as NewPersonalToken;
  }

  async remove(id: number): Promise<void> {
    await this.requests.ask('DELETE', `token/${id}`);
  }
}

/** Credentials of registries: the user's own and those of all users, without user names and passwords. */
export class Registries extends Collection<RegistryCredentials> {
  constructor(requests: Requests) {
    super('registry', requests, 'registry');
  }

  /** The user's own for this host, or else those of all users. */
  override async named(registry: string): Promise<RegistryCredentials | undefined> {
    const found = (await this.list()).filter((one) => one.registry === registry.toLowerCase());
    return found.find((one) => !one.for_all) ?? found[0];
  }

  /**
   * Sets the credentials for a registry, in place of earlier ones. Resolves to their id. `forAll`: for all
   * users, as an administrator.
   */
  async set(
    registry: string,
    { username, password, forAll = false }: { username: string; password: string; forAll?: boolean },
  ): Promise<number> {
    const body = { registry, username, password, ...(forAll && { for_all: true }) };
    return JSON.parse(await this.requests.ask('POST', 'registry', body)).registry_id;
  }

  async remove(id: number): Promise<void> {
    await this.requests.ask('DELETE', `registry/${id}`);
  }
}

/** Secrets or files: the user's own and those of all users, without values. */
export class Secrets extends Collection<Secret> {
  constructor(kind: 'secret' | 'file', requests: Requests) {
    super(kind, requests);
  }

  /** The user's own, or else the one of all users. */
  override async named(name: string): Promise<Secret | undefined> {
    const found = (await this.list()).filter((secret) => secret.name === name);
    return found.find((secret) => !secret.for_all) ?? found[0];
  }

  /**
   * Sets the value, in place of an earlier one: text for a secret, base64 for a file. Resolves to the id.
   * `forAll`: for all users, as an administrator.
   */
  async set(name: string, value: string, { forAll = false } = {}): Promise<number> {
    const body = { name, value, ...(forAll && { for_all: true }) };
    return JSON.parse(await this.requests.ask('POST', this.kind, body))[`${this.kind}_id`];
  }

  async remove(id: number): Promise<void> {
    await this.requests.ask('DELETE', `${this.kind}/${id}`);
  }

  /** Encrypts some values of both kinds with the first key of the setting, as an administrator. */
  async encrypt(): Promise<SecretEncryption> {
    return JSON.parse(await this.requests.ask('POST', 'secret/encrypt', {})) as SecretEncryption;
  }
}

/** The app shop: applications of the site, each with parameters to fill in. */
export class Shop {
  readonly #requests: Requests;

  constructor(requests: Requests) {
    this.#requests = requests;
  }

  /** What the user may see, in the order of the shop. */
  async list(): Promise<ShopEntry[]> {
    return Object.values(JSON.parse(await this.#requests.ask('GET', 'shop')) as Record<string, ShopEntry>);
  }

  async get(id: string): Promise<ShopEntryDetail> {
    return JSON.parse(await this.#requests.ask('GET', shopPath(id))) as ShopEntryDetail;
  }

  /** The description with these values, by the keys of parameters; the others have their defaults. */
  async fillIn(id: string, values: Readonly<Record<string, string>> = {}): Promise<Application> {
    const answer = await this.#requests.ask('POST', shopPath(id), { values });
    return (JSON.parse(answer) as { application: Application }).application;
  }
}

const shopPath = (id: string): string => `shop/${encodeURIComponent(id)}`;

/** Times in seconds since 1970. */
export interface AuditFilter {
  user?: string;
  action?: string;
  target?: string;
  since?: number;
  until?: number;
}

/** Entries of one request. */
const PAGE_SIZE = 1_000;

/** The audit log, which is read page by page. */
export class Audit {
  readonly #requests: Requests;

  constructor(requests: Requests) {
    this.#requests = requests;
  }

  /** The latest entries that pass the filter, newest first: at most `limit`. */
  async latest(filter: AuditFilter, limit: number): Promise<AuditEntry[]> {
    const entries: AuditEntry[] = [];
    for (;;) {
      const size = Math.min(PAGE_SIZE, limit - entries.length);
      const page = size > 0 ? await this.#page(filter, size, entries.at(-1)?.id) : [];
      entries.push(...page);
      if (page.length < size || size <= 0) return entries;
    }
  }

  async #page(filter: AuditFilter, limit: number, before: number | undefined): Promise<AuditEntry[]> {
    const query = new URLSearchParams({ limit: String(limit) });
    if (before !== undefined) query.set('before', String(before));
    for (const [name, value] of Object.entries(filter)) query.set(name, String(value));
    const text = await this.#requests.ask('GET', `audit?${query}`);
    const all = JSON.parse(text) as Record<string, AuditEntry>;
    return Object.values(all).sort((one, other) => other.id - one.id);
  }
}
