/**
 * Command-line client of the earlier platform, written from the known behaviour of its releases. It logs in
 * with Basic, sends the whole Set-Cookie value back, takes every unexpected status for a failure, and reads
 * only its own fields.
 */
import type { Application } from '../../../shared/application-schema.ts';
import { basic, HttpClient, type Reply } from './http-client.ts';

export type Release = '2018.12' | '2017.12';
export type Json = Record<string, unknown>;
type AccountKind = 'user' | 'role' | 'quota';

/** An error that the client would print. */
export class ZoeClientError extends Error {
  override name = 'ZoeClientError';
}

export class ZoeClient {
  readonly #http: HttpClient;
  readonly #release: Release;
  /** A plain user's list is filtered by this id. */
  readonly userId: string;

  constructor(http: HttpClient, release: Release, userId: string) {
    this.#http = http;
    this.#release = release;
    this.userId = userId;
  }

  static async login(url: () => string, release: Release, username: string, password: string) {
    const reply = await new HttpClient(url, basic(username, password)).get('login');
    if (reply.status !== 200) throw failure(reply, release);
    const cookie = reply.headers['set-cookie']?.join(', ');
    if (cookie === undefined) throw new ZoeClientError('the answer has no Set-Cookie');
    const answer = reply.json();
    const id = release === '2018.12' ? field(field(answer, 'user') as Json, 'id') : field(answer, 'uid');
    if (release === '2017.12') field(answer, 'role');
    return new ZoeClient(new HttpClient(url, { cookie }), release, String(id));
  }

  info(): Promise<Json> {
    return this.#get('info');
  }

  async validate(application: unknown): Promise<boolean> {
    const body = this.#release === '2018.12' ? application : { application };
    return (await this.#http.post('zapp_validate', body)).status === 200;
  }

  async start(name: string, application: Application): Promise<number> {
    return Number(field(await this.#create('execution', { name, application }), 'execution_id'));
  }

  /** Rows of the table that the client prints. */
  async list(filters: Record<string, string> = {}): Promise<unknown[][]> {
    const all = await this.#get(`execution?${new URLSearchParams(filters)}`);
    return Object.values(all as Record<string, Json>).map((one) =>
      ['id', 'name', 'user_id', 'status'].map((name) => field(one, name)),
    );
  }

  /** The fields of an execution that the client reads; undefined if the execution does not exist. */
  async get(id: number): Promise<Json | undefined> {
    const reply = await this.#http.get(`execution/${id}`);
    if (reply.status === 404) return undefined;
    const read = fields(this.#ok(reply, 200), EXECUTION_FIELDS);
    const description = field(read, 'description') as Json;
    field(description, 'name');
    for (const one of field(description, 'services') as Json[]) field(one, 'monitor');
    return read;
  }

  async service(id: number): Promise<Json> {
    const read = fields(await this.#get(`service/${id}`), SERVICE_FIELDS);
    field(field(read, 'description') as Json, 'monitor');
    return read;
  }

  /** Yields [first word, rest] of each line. */
  async *logs(serviceId: number): AsyncGenerator<[date: string, rest: string]> {
    const response = await this.#http.open('GET', `service/logs/${serviceId}`);
    if (response.statusCode !== 200) throw new ZoeClientError(`error retrieving service ${serviceId}`);
    let rest = Buffer.alloc(0);
    for await (const chunk of response) {
      const lines = Buffer.concat([rest, chunk])
        .toString('latin1')
        .split(/\r\n|\r|\n/);
      rest = Buffer.from(lines.pop() ?? '', 'latin1');
      for (const line of lines) yield splitLine(Buffer.from(line, 'latin1'));
    }
    if (rest.length > 0) yield splitLine(rest);
  }

  async endpoints(id: number): Promise<[name: string, url: string][]> {
    const all = field(await this.#get(`execution/endpoints/${id}`), 'endpoints') as [string, string][];
    return all.map(([name, url]) => [name, url]);
  }

  terminate(id: number): Promise<void> {
    return this.#remove(`execution/${id}`);
  }

  delete(id: number): Promise<void> {
    return this.#remove(`execution/delete/${id}`);
  }

  async createAccount(kind: AccountKind, body: Json): Promise<number> {
    return Number(field(await this.#create(kind, body), `${kind}_id`));
  }

  async account(kind: AccountKind, id: number): Promise<Json> {
    return field(await this.#get(`${kind}/${id}`), kind) as Json;
  }

  async accounts(kind: AccountKind, filters: Record<string, string> = {}): Promise<Json[]> {
    return Object.values(await this.#get(`${kind}?${new URLSearchParams(filters)}`)) as Json[];
  }

  async updateAccount(kind: AccountKind, id: number, changes: Json): Promise<void> {
    const reply = await this.#http.post(`${kind}/${id}`, changes);
    if (reply.status !== 201) throw failure(reply, this.#release);
  }

  deleteAccount(kind: AccountKind, id: number): Promise<void> {
    return this.#remove(`${kind}/${id}`);
  }

  async #get(path: string): Promise<Json> {
    return this.#ok(await this.#http.get(path), 200);
  }

  async #create(path: string, body: unknown): Promise<Json> {
    return this.#ok(await this.#http.post(path, body), 201);
  }

  async #remove(path: string): Promise<void> {
    const reply = await this.#http.delete(path);
    if (reply.status !== 204) throw failure(reply, this.#release);
  }

  #ok(reply: Reply, status: number): Json {
    if (reply.status !== status) throw failure(reply, this.#release);
    return reply.json();
  }
}

const EXECUTION_FIELDS = [
  ...['id', 'name', 'user_id', 'status', 'error_message', 'services', 'description'],
  ...['time_submit', 'time_start', 'time_end'],
];
const SERVICE_FIELDS = [
  ...['id', 'name', 'status', 'backend_status', 'error_message', 'description'],
  ...['essential', 'backend_host'],
];

/** Reads a field as a Python dictionary would: a missing field ends the program. */
function field(object: Json, name: string): unknown {
  if (!(name in object)) throw new ZoeClientError(`KeyError: ${name}`);
  return object[name];
}

const fields = (object: Json, names: readonly string[]): Json =>
  Object.fromEntries(names.map((name) => [name, field(object, name)]));

const failure = (reply: Reply, release: Release): ZoeClientError =>
  new ZoeClientError(release === '2018.12' ? reply.reason : String(field(reply.json(), 'message')));

/**
 * Decodes the line as strict UTF-8 and splits it at the first space. A line without a space ends the program.
 */
function splitLine(line: Buffer): [string, string] {
  const text = new TextDecoder('utf-8', { fatal: true }).decode(line);
  const space = text.indexOf(' ');
  if (space < 0) throw new ZoeClientError(`IndexError: ${text}`);
  return [text.slice(0, space), text.slice(space + 1)];
}
