/**
 * Actions on executions for tests of the API, on top of HttpClient. Every action checks that its request
 * succeeded.
 */
import { expect } from 'vitest';
import type { Execution, Explanation, SchedulerStatistics, Service } from '../../../client/api-types.ts';
import type { Application } from '../../../shared/application-schema.ts';
import { application, service } from '../fixtures/descriptions.ts';
import { ADMIN_PASSWORD, type Host } from '../hosts/hosts.ts';
import { eventually } from '../tools/eventually.ts';
import { basic, HttpClient } from './http-client.ts';

export class ApiClient {
  readonly http: HttpClient;

  constructor(host: () => Host, username = 'admin', password = ADMIN_PASSWORD) {
    this.http = new HttpClient(() => host().url(), basic(username, password));
  }

  async submit(described: Application = application(service()), name = 'test'): Promise<number> {
    const reply = await this.http.post('execution', { name, application: described });
    expect(reply.status, reply.text).toBe(200);
    return reply.json<{ execution_id: number }>().execution_id;
  }

  execution(id: number): Promise<Execution> {
    return this.#read(`execution/${id}`);
  }

  explain(id: number): Promise<Explanation> {
    return this.#read(`execution/${id}/explain`);
  }

  /** Explains what would happen to a submission now. */
  async explainSubmission(described: Application): Promise<Explanation> {
    const reply = await this.http.post('execution/explain', { application: described });
    expect(reply.status, reply.text).toBe(200);
    return reply.json<Explanation>();
  }

  list(): Promise<Record<string, Execution>> {
    return this.#read('execution');
  }

  service(id: number): Promise<Service> {
    return this.#read(`service/${id}`);
  }

  endpoints(id: number): Promise<[string, string][]> {
    return this.#read(`execution/endpoints/${id}`);
  }

  discovery(id: number | string, group: string): Promise<Record<string, unknown>> {
    return this.#read(`discovery/by_group/${id}/${group}`);
  }

  statistics(): Promise<SchedulerStatistics> {
    return this.#read('statistics/scheduler');
  }

  async terminate(id: number): Promise<void> {
    expect(await this.http.delete(`execution/${id}`)).toMatchObject({ status: 200, text: '' });
  }

  async remove(id: number): Promise<void> {
    expect(await this.http.delete(`execution/delete/${id}`)).toMatchObject({ status: 200, text: '' });
  }

  async reached(id: number, status: string): Promise<Execution> {
    let last: Execution | undefined;
    await eventually(async () => {
      last = await this.execution(id);
      return last.status === status;
    }).catch((cause) => {
      throw new Error(`execution ${id} is not ${status} but ${JSON.stringify(last)}`, { cause });
    });
    return last ?? this.execution(id);
  }

  async #read<T>(path: string): Promise<T> {
    const reply = await this.http.get(path);
    expect(reply.status, reply.text).toBe(200);
    return reply.json<T>();
  }
}
