/**
 * Actions on executions and what they need, on top of HttpClient, as a user would write them. Every action
 * checks that its request succeeded.
 */
import type { IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import type {
  Execution,
  Explanation,
  Host as HostSummary,
  SchedulerStatistics,
  Service,
} from '../../../client/api-types.ts';
import type { Application } from '../../../shared/application-schema.ts';
import { application, service } from '../fixtures/descriptions.ts';
import { ADMIN_PASSWORD, type Host } from '../hosts/hosts.ts';
import { eventually } from '../tools/eventually.ts';
import { basic, HttpClient } from './http-client.ts';

export class ApiClient {
  readonly http: HttpClient;

  /** `host`: the control plane, or its base URL. */
  constructor(host: string | (() => Host), username = 'admin', password = ADMIN_PASSWORD) {
    const url = () => (typeof host === 'string' ? host : host().url());
    this.http = new HttpClient(url, basic(username, password));
  }

  async submit(described: Application = application(service()), name = described.name): Promise<number> {
    return (await this.#post<{ execution_id: number }>('execution', { name, application: described }))
      .execution_id;
  }

  /** Submits an execution, and waits until it runs. */
  async run(described: Application, timeoutMs?: number): Promise<number> {
    const id = await this.submit(described);
    await this.waitFor(id, 'running', timeoutMs);
    return id;
  }

  execution(id: number): Promise<Execution> {
    return this.#read(`execution/${id}`);
  }

  executions(): Promise<Record<string, Execution>> {
    return this.#read('execution');
  }

  explain(id: number): Promise<Explanation> {
    return this.#read(`execution/${id}/explain`);
  }

  /** Explains what would happen to a submission now. */
  explainSubmission(described: Application): Promise<Explanation> {
    return this.#post('execution/explain', { application: described });
  }

  service(id: number): Promise<Service> {
    return this.#read(`service/${id}`);
  }

  /** Services in the order of the description. */
  async services(execution: number): Promise<Service[]> {
    const { services } = await this.execution(execution);
    return Promise.all(services.map((id) => this.service(id)));
  }

  endpoints(id: number): Promise<[name: string, url: string][]> {
    return this.#read(`execution/endpoints/${id}`);
  }

  discovery(id: number | string, group: string): Promise<Record<string, unknown>> {
    return this.#read(`discovery/by_group/${id}/${group}`);
  }

  statistics(): Promise<SchedulerStatistics> {
    return this.#read('statistics/scheduler');
  }

  /** Removes the limits of the seeded quota, which would queue more than five executions. */
  async removeQuotaLimits(): Promise<void> {
    await this.#ok('POST', 'quota/1', { concurrent_executions: 0, memory: 0, cores: 0 });
  }

  /** Sets a secret (text) or a file (base64) of the user; resolves to its id. */
  async setSecret(kind: 'secret' | 'file', name: string, value: string): Promise<number> {
    const made = await this.#post<Record<string, number>>(`/native/api/0.7/${kind}`, { name, value });
    return made[`${kind}_id`] ?? 0;
  }

  /** A token with which one agent can register one host. */
  async joinToken(input: { name?: string; labels?: string[] } = {}): Promise<string> {
    return (await this.#post<{ token: string }>('host/token', input)).token;
  }

  async host(name: string): Promise<HostSummary> {
    const [found] = Object.values(await this.#read<Record<string, HostSummary>>(`host?name=${name}`));
    if (!found) throw new Error(`host ${name} does not exist`);
    return found;
  }

  async terminate(id: number): Promise<void> {
    await this.#ok('DELETE', `execution/${id}`, undefined, '');
  }

  /** Terminates executions that run, and waits until they have ended. */
  async end(...ids: number[]): Promise<void> {
    await Promise.all(ids.map((id) => this.terminate(id)));
    await Promise.all(ids.map((id) => this.waitFor(id, 'terminated')));
  }

  /** Terminates every execution that has not ended, again and again, until all have ended. */
  async endAll(timeoutMs = 120_000): Promise<void> {
    await eventually(async () => {
      const live = Object.values(await this.executions()).filter(({ status }) => !isEnd(status));
      for (const { id, status } of live)
        if (status !== 'cleaning up') await this.terminate(id).catch(() => {});
      if (live.length > 0) throw new Error(live.map(({ id, status }) => `${id} is ${status}`).join());
      return true;
    }, timeoutMs);
  }

  async remove(id: number): Promise<void> {
    await this.#ok('DELETE', `execution/delete/${id}`, undefined, '');
  }

  /** Output of a service up to its end, as a stream. */
  async openLog(service: number): Promise<IncomingMessage> {
    const response = await this.http.open('GET', `service/logs/${service}`);
    if (response.statusCode === 200) return response;
    response.destroy();
    throw new Error(`the log of service ${service} answers ${response.statusCode}`);
  }

  async log(service: number): Promise<Buffer> {
    return buffer(await this.openLog(service));
  }

  /** Output of the execution's `nth` service in the order of the description. */
  async logText(execution: number, nth = 0): Promise<string> {
    const { services } = await this.execution(execution);
    return (await this.log(services[nth] ?? 0)).toString();
  }

  /** Waits until the execution has this status. Throws at once if the execution ends with another status. */
  async waitFor(id: number, status: string, timeoutMs = 60_000): Promise<Execution> {
    let last: Execution | undefined;
    const failure = (cause?: unknown) => {
      const seen = JSON.stringify({ ...last, description: '' });
      return new Error(`execution ${id} is not ${status}: ${seen}`, { cause });
    };
    const reached = await eventually(async () => {
      // Polls again if the control plane is unavailable for a moment.
      last = await this.execution(id);
      return (last.status === status || isEnd(last.status)) && last;
    }, timeoutMs).catch((cause) => {
      throw failure(cause);
    });
    if (reached.status === status) return reached;
    throw failure();
  }

  #read<T>(path: string): Promise<T> {
    return this.#ok('GET', path);
  }

  #post<T>(path: string, body: unknown): Promise<T> {
    return this.#ok('POST', path, body);
  }

  /** Sends a request that must succeed, and have this answer if it is given. */
  async #ok<T>(method: string, path: string, body?: unknown, answer?: string): Promise<T> {
    const reply = await this.http.send(method, path, body === undefined ? undefined : JSON.stringify(body));
    if (reply.status !== 200 || (answer !== undefined && reply.text !== answer))
      throw new Error(`${method} ${path}: ${reply.status} ${reply.text}`);
    return (reply.text === '' ? undefined : reply.json()) as T;
  }
}

const isEnd = (status: string): boolean => status === 'terminated' || status === 'error';
