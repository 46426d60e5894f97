/** Small client of the REST API (group B), as a user would write it: HTTP Basic, JSON, and polling. */
import type { Execution, Host, Service } from '../../../client/api-types.ts';
import type { Application } from '../../../shared/application-schema.ts';
import { checkExchange } from '../tools/documented.ts';
import { eventually } from '../tools/eventually.ts';

export class RestClient {
  readonly #base: string;
  readonly #authorization: string;

  constructor(url: string, username: string, password: string) {
    this.#base = `${url}/api/0.7`;
    this.#authorization = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
  }

  async request(path: string, init: RequestInit = {}): Promise<Response> {
    const url = new URL(`${this.#base}/${path}`);
    const response = await fetch(url, { ...init, headers: { authorization: this.#authorization } });
    const { status, headers } = response;
    await checkExchange({
      method: init.method ?? 'GET',
      origin: url.origin,
      path: url.pathname,
      requestBody: typeof init.body === 'string' ? init.body : undefined,
      status,
      header: (name) => headers.get(name) ?? undefined,
      // Logs may have no end, and an answer without a content type has no body.
      body: headers.get('content-type')?.startsWith('text/') ? undefined : await response.clone().text(),
    });
    return response;
  }

  async submit(application: Application, name = application.name): Promise<number> {
    const body = JSON.stringify({ name, application });
    const { execution_id } = await this.#json<{ execution_id: number }>('execution', {
      method: 'POST',
      body,
    });
    return execution_id;
  }

  execution(id: number): Promise<Execution> {
    return this.#json(`execution/${id}`);
  }

  executions(): Promise<Record<string, Execution>> {
    return this.#json('execution');
  }

  /** Services in the order of the description. */
  async services(execution: number): Promise<Service[]> {
    const { services } = await this.execution(execution);
    return Promise.all(services.map((id) => this.#json<Service>(`service/${id}`)));
  }

  /** Explains why the execution is in its state. */
  explain(execution: number): Promise<Record<string, unknown>> {
    return this.#json(`execution/${execution}/explain`);
  }

  /** Explains what would happen to a submission now. */
  explainSubmission(application: Application): Promise<Record<string, unknown>> {
    return this.#json('execution/explain', { method: 'POST', body: JSON.stringify({ application }) });
  }

  endpoints(execution: number): Promise<[name: string, url: string][]> {
    return this.#json(`execution/endpoints/${execution}`);
  }

  async discover(execution: number, group: string): Promise<string[]> {
    return (await this.#json<{ dns_names: string[] }>(`discovery/by_group/${execution}/${group}`)).dns_names;
  }

  /** Removes the limits of the seeded quota, which would queue more than five executions. */
  async removeQuotaLimits(): Promise<void> {
    await this.#ok('quota/1', {
      method: 'POST',
      body: JSON.stringify({ concurrent_executions: 0, memory: 0, cores: 0 }),
    });
  }

  /** Sets a secret (text) or a file (base64) of the user; resolves to its id. */
  async setSecret(kind: 'secret' | 'file', name: string, value: string): Promise<number> {
    const url = new URL(`/native/api/0.7/${kind}`, this.#base);
    const headers = { authorization: this.#authorization };
    const init = { method: 'POST', headers, body: JSON.stringify({ name, value }) };
    const response = await fetch(url, init);
    if (!response.ok) throw new Error(`${kind} ${name}: ${response.status} ${await response.text()}`);
    return ((await response.json()) as Record<string, number>)[`${kind}_id`] ?? 0;
  }

  /** A token with which one agent can register one host. */
  async joinToken(input: { name?: string; labels?: string[] } = {}): Promise<string> {
    const init = { method: 'POST', body: JSON.stringify(input) };
    return (await this.#json<{ token: string }>('host/token', init)).token;
  }

  async host(name: string): Promise<Host> {
    const [found] = Object.values(await this.#json<Record<string, Host>>(`host?name=${name}`));
    if (!found) throw new Error(`host ${name} does not exist`);
    return found;
  }

  async terminate(execution: number): Promise<void> {
    await this.#ok(`execution/${execution}`, { method: 'DELETE' });
  }

  /** Terminates every execution that has not ended, and waits until all have ended. */
  async endAll(): Promise<void> {
    for (const { id } of await this.#unended()) await this.request(`execution/${id}`, { method: 'DELETE' });
    await eventually(async () => (await this.#unended()).length === 0, 120_000);
  }

  async #unended(): Promise<Execution[]> {
    return Object.values(await this.executions()).filter(({ status }) => !isEnd(status));
  }

  async remove(execution: number): Promise<void> {
    await this.#ok(`execution/delete/${execution}`, { method: 'DELETE' });
  }

  /** Output of a service up to its end, as a stream. */
  openLog(service: number): Promise<Response> {
    return this.#ok(`service/logs/${service}`);
  }

  async log(service: number): Promise<Buffer> {
    return Buffer.from(await (await this.openLog(service)).arrayBuffer());
  }

  /** Output of the execution's `nth` service in the order of the description. */
  async logText(execution: number, nth = 0): Promise<string> {
    const { services } = await this.execution(execution);
    return (await this.log(services[nth] ?? 0)).toString();
  }

  /** Waits until the execution has this status. Throws at once if the execution ends with another status. */
  async waitFor(id: number, status: string, timeoutMs = 60_000): Promise<Execution> {
    let last: Execution | undefined;
    const reached = await eventually(async () => {
      // Polls again if the control plane is unavailable for a moment.
      last = await this.execution(id);
      return (last.status === status || isEnd(last.status)) && last;
    }, timeoutMs).catch((cause) => {
      throw new Error(`execution ${id} is not ${status}: ${JSON.stringify({ ...last, description: '' })}`, {
        cause,
      });
    });
    if (reached && reached.status === status) return reached;
    throw new Error(`execution ${id} is not ${status}: ${JSON.stringify({ ...last, description: '' })}`);
  }

  async #ok(path: string, init?: RequestInit): Promise<Response> {
    const response = await this.request(path, init);
    if (!response.ok)
      throw new Error(`${init?.method ?? 'GET'} ${path}: ${response.status} ${await response.text()}`);
    return response;
  }

  async #json<T>(path: string, init?: RequestInit): Promise<T> {
    return (await (await this.#ok(path, init)).json()) as T;
  }
}

const isEnd = (status: string): boolean => status === 'terminated' || status === 'error';
