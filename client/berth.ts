/** The client of Berth's API, for programs and the command line. It uses group B (SPEC H430). */
import { text } from 'node:stream/consumers';
import type {
  Application,
  Execution,
  Explanation,
  Info,
  Login,
  Quota,
  QuotaChanges,
  QuotaFields,
  Role,
  RoleChanges,
  RoleFields,
  Service,
  ServiceUsage,
  User,
  UserChanges,
  UserFields,
} from './api-types.ts';
import type { Call, Credentials, Method } from './call.ts';
import { type BerthEvent, readEvents } from './events.ts';
import type { FollowOptions } from './follow-options.ts';
import { type LogLine, type LogOptions, readLines } from './logs.ts';
import { type Output, type OutputOptions, readOutput } from './output.ts';
import {
  Accounts,
  Audit,
  Hosts,
  PersonalTokens,
  Registries,
  type Requests,
  Secrets,
  Shop,
} from './resources.ts';
import { ClientStream, type ExecRequest } from './streams.ts';
import { send, sendOnce, sessionOf } from './transport.ts';
import { answerOf, watch } from './watch.ts';

export type * from './api-types.ts';
export { BerthError, type Credentials, type Problem } from './call.ts';
export type { BerthEvent, Change } from './events.ts';
export type { FollowOptions } from './follow-options.ts';
export type { LogLine, LogOptions } from './logs.ts';
export { MAX_SERVICES, type Output, type OutputOptions } from './output.ts';
export type { AuditFilter } from './resources.ts';

const API_PATH = '/native/api/0.7/';

export interface ExecutionFilter {
  status?: string;
  name?: string;
  /** The newest executions, at most so many. */
  limit?: number;
}

export interface SubmitOptions {
  /** How long the execution may last from its placement on; by default as the user's quota states. */
  timeLimitS?: number | undefined;
}

export class Berth {
  readonly #url: URL;
  readonly #credentials: Credentials | undefined;
  readonly #signal: AbortSignal | undefined;
  readonly #requests: Requests = {
    ask: (...request) => this.#text(...request),
    make: async (path, body) => text(await sendOnce(this.#call('POST', path, body))),
  };
  readonly hosts = new Hosts(this.#requests);
  readonly users = new Accounts<User, UserFields, UserChanges>('user', this.#requests, 'username');
  readonly roles = new Accounts<Role, RoleFields, RoleChanges>('role', this.#requests);
  readonly quotas = new Accounts<Quota, QuotaFields, QuotaChanges>('quota', this.#requests);
  readonly tokens = new PersonalTokens(this.#requests);
  readonly secrets = new Secrets('secret', this.#requests);
  readonly files = new Secrets('file', this.#requests);
  readonly registries = new Registries(this.#requests);
  readonly shop = new Shop(this.#requests);
  /** For administrators. */
  readonly audit = new Audit(this.#requests);

  /** The client for `BERTH_URL` with the personal access token `BERTH_TOKEN`. Throws if one is missing. */
  static fromEnvironment(env: Readonly<Record<string, string | undefined>> = process.env): Berth {
    const { BERTH_URL: url, BERTH_TOKEN: token } = env;
    if (!url) throw new Error('BERTH_URL is not set: set it to the address of the control plane.');
    if (!token)
      throw new Error('BERTH_TOKEN is not set: set it to a personal access token (berth token create).');
    return new Berth(url, { token });
  }

  /**
   * `url`: of the control plane, such as `https://berth.example.org`. Throws TypeError if it is none.
   * `signal`: ends all requests.
   */
  constructor(url: string, credentials?: Credentials, signal?: AbortSignal) {
    this.#url = new URL(url);
    this.#credentials = credentials;
    this.#signal = signal;
  }

  /** The address of the control plane. */
  get url(): URL {
    return new URL(this.#url);
  }

  /** The release of the server, and its deployment. Needs no credentials. */
  info(): Promise<Info> {
    return this.#json('GET', 'info');
  }

  /**
   * Logs in by user name and password. Resolves to the user, and to the session that further clients can use
   * as credentials.
   */
  async logIn(): Promise<{ user: User; session: string }> {
    if (!this.#credentials || !('password' in this.#credentials))
      throw new TypeError('A login requires a user name and a password as credentials.');
    const session = await this.#session(this.#credentials);
    const user = await new Berth(this.#url.href, { session }, this.#signal).user();
    return { user, session };
  }

  /** Logs in by a code that a page of the server has given, for the verifier. Resolves to the session. */
  async logInByCode(code: string, verifier: string): Promise<string> {
    return this.#session({ code, verifier });
  }

  /** The session of a login that no other one ends. */
  async #session(body: object): Promise<string> {
    const url = new URL('/login/command-line', this.#url);
    const response = await send({ method: 'POST', url, credentials: undefined, body });
    response.resume();
    return sessionOf(response) ?? Promise.reject(new Error('The server has given no session.'));
  }

  /** The user of the credentials. */
  async user(): Promise<User> {
    return (await this.#json<Login>('GET', 'login')).user;
  }

  /** Ends the session that is used as credentials. */
  async logOut(): Promise<void> {
    const url = new URL('/logout', this.#url);
    (await send({ method: 'POST', url, credentials: this.#credentials })).resume();
  }

  /** Throws BerthError with all problems if the description is not valid. */
  async validate(application: Application): Promise<void> {
    await this.#json('POST', 'app_validate', { application });
  }

  /** Submits an application, once even if the connection breaks. Resolves to the id of the execution. */
  async submit(name: string, application: Application, { timeLimitS }: SubmitOptions = {}): Promise<number> {
    const answer = await this.#requests.make('execution', { name, application, time_limit: timeLimitS });
    return (JSON.parse(answer) as { execution_id: number }).execution_id;
  }

  /** Runs a command in a running service. Resolves once it has begun. */
  exec(serviceId: number, request: ExecRequest): Promise<ClientStream> {
    return ClientStream.open(this.#call('GET', `service/${serviceId}/exec`), { type: 'exec', ...request });
  }

  /** Connects to a TCP port of a running service. */
  forward(serviceId: number, port: number): Promise<ClientStream> {
    return ClientStream.open(this.#call('GET', `service/${serviceId}/forward`), { type: 'forward', port });
  }

  /**
   * Copies a file or a folder out of a running service, at an absolute path, as a tar archive with one root.
   * The archive is whole only if the exit code is 0 once the output has ended. It has links that lead out of
   * it, which the caller must not follow.
   */
  copyOut(serviceId: number, path: string): Promise<ClientStream> {
    const opening = { type: 'files-out', path, form: 'tar', links: 'all' } as const;
    return ClientStream.open(this.#call('GET', `service/${serviceId}/files`), opening);
  }

  /**
   * Copies a file or a folder into a running service: the caller writes a tar archive with one root and ends.
   * The copy is there once the output has ended with exit code 0. `path`: a folder that exists, where the
   * copy gets the name, or the new path itself.
   */
  copyIn(serviceId: number, path: string, name: string): Promise<ClientStream> {
    const opening = { type: 'files-in', path, name } as const;
    return ClientStream.open(this.#call('GET', `service/${serviceId}/files`), opening);
  }

  execution(id: number): Promise<Execution> {
    return this.#json('GET', `execution/${id}`);
  }

  /** The services of an execution. Their number does not change. */
  async services(executionId: number): Promise<Service[]> {
    const { services } = await this.execution(executionId);
    return Promise.all(services.map((id) => this.service(id)));
  }

  /** Executions, the newest first. */
  async executions(filter: ExecutionFilter = {}): Promise<Execution[]> {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(filter)) query.set(name, String(value));
    const all = await this.#json<Record<string, Execution>>('GET', `execution?${query}`);
    return Object.values(all).sort((one, other) => other.id - one.id);
  }

  /** Changes how long an execution may last from its placement on; null: for ever. */
  async limitTime(id: number, limitS: number | null): Promise<void> {
    await this.#text('POST', `execution/${id}`, { time_limit: limitS });
  }

  async terminate(id: number): Promise<void> {
    await this.#text('DELETE', `execution/${id}`);
  }

  async remove(id: number): Promise<void> {
    await this.#text('DELETE', `execution/delete/${id}`);
  }

  /** Why an execution waits, or what it does. */
  explain(id: number): Promise<Explanation> {
    return this.#json('GET', `execution/${id}/explain`);
  }

  /**
   * What happens to an execution, whenever that changes, until it has ended. Goes on while the control plane
   * can't be reached.
   */
  watch(id: number, options: FollowOptions = {}): AsyncGenerator<Explanation> {
    const { signal } = options;
    return watch(() => this.#json('GET', `execution/${id}/explain`, undefined, signal), options);
  }

  /** Resolves to the execution once it has ended. Goes on while the control plane can't be reached. */
  async wait(id: number, options: FollowOptions = {}): Promise<Execution> {
    for await (const _ of this.watch(id, options));
    return answerOf(() => this.#json('GET', `execution/${id}`, undefined, options.signal), options);
  }

  /** What would become of an application if it were submitted now. */
  explainApplication(application: Application): Promise<Explanation> {
    return this.#json('POST', 'execution/explain', { application });
  }

  /** Name and URL of each endpoint. */
  endpoints(id: number): Promise<[name: string, url: string][]> {
    return this.#json('GET', `execution/endpoints/${id}`);
  }

  service(id: number): Promise<Service> {
    return this.#json('GET', `service/${id}`);
  }

  /** What the last start of a service used, over its whole life. */
  usage(serviceId: number): Promise<ServiceUsage> {
    return this.#json('GET', `service/${serviceId}/usage`);
  }

  /**
   * The output of at most 16 services of an execution, from the first byte of each, until no more can come,
   * or without `follow` until the present end. Goes on after a broken connection without a gap or a
   * repetition.
   */
  output(
    executionId: number,
    services: readonly number[],
    options: OutputOptions = {},
  ): AsyncGenerator<Output> {
    const { timestamps = false, follow = true, tail } = options;
    const part = `follow=${follow}${tail === undefined ? '' : `&tail=${tail}`}`;
    const path = `execution/${executionId}/logs?timestamps=${timestamps}&${part}&from=`;
    const open = (from: string, signal: AbortSignal) =>
      send(this.#call('GET', `${path}${from}`, undefined, signal));
    return readOutput(open, services, options);
  }

  /**
   * The output of services of an execution in whole lines, from the first one of each, until no more can
   * come. Goes on after a broken connection without a gap or a repetition. Throws if there are more than 16
   * services: then choose among them.
   */
  logs(executionId: number, options: LogOptions = {}): AsyncGenerator<LogLine> {
    const services = () => answerOf(() => this.services(executionId), options);
    const output = (ids: readonly number[]) => this.output(executionId, ids, options);
    return readLines(executionId, services, output, options);
  }

  /**
   * What changes from now on, for as long as it is read. Goes on after a broken connection without a gap or a
   * repetition. Throws if the first connection fails, or if the session has ended.
   */
  events(options: FollowOptions = {}): AsyncGenerator<BerthEvent> {
    const open = (lastEventId: string | undefined, signal: AbortSignal) => {
      const query =
        lastEventId === undefined ? '' : `?${new URLSearchParams({ last_event_id: lastEventId })}`;
      return send(this.#call('GET', `events${query}`, undefined, signal));
    };
    return readEvents(open, options);
  }

  /** `signal` ends this call, as that of the client does. */
  #call(method: Method, path: string, body?: unknown, signal?: AbortSignal): Call {
    const url = new URL(`${API_PATH}${path}`, this.#url);
    const signals = [this.#signal, signal].filter((one) => one !== undefined);
    const ends = signals.length > 0 ? AbortSignal.any(signals) : undefined;
    return { method, url, credentials: this.#credentials, body, signal: ends };
  }

  async #text(method: Method, path: string, body?: unknown, signal?: AbortSignal): Promise<string> {
    return text(await send(this.#call(method, path, body, signal)));
  }

  async #json<T>(method: Method, path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
    return JSON.parse(await this.#text(method, path, body, signal)) as T;
  }
}
