/**
 * Actions on executions for tests of the API, on top of HttpClient. Every action checks that its request
 * succeeded.
 */
import { expect } from 'vitest';
import type { StatisticsJson } from '../../../control-plane/http/json/schemas.ts';
import type { Application } from '../../../shared/application-schema.ts';
import { application, service } from '../fixtures/descriptions.ts';
import { ADMIN_PASSWORD, type Host } from '../hosts/hosts.ts';
import { eventually } from '../tools/eventually.ts';
import { basic, HttpClient } from './http-client.ts';
import type { ExecutionJson, ServiceJson } from './rest-client.ts';

export interface FullExecution extends ExecutionJson {
  user_id: number | string;
  description: unknown;
}

export interface ExplanationJson {
  status: string | null;
  summary: string;
  position: number | null;
  queue_length: number | null;
  waiting_for: string[];
  reasons: {
    instance: string;
    instances: number;
    filter: string;
    hosts: number;
    of_hosts: number;
    text: string;
  }[];
  quota: { dimension: string; over: number; text: string }[];
  backfill_reserved_for: number | null;
  retry_at: number | null;
  demand: { memory: number; cores: number; memory_limit: number } | null;
  fits_when_idle: boolean | null;
  placement: { host: string; instances: string[] }[] | null;
}

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

  execution(id: number): Promise<FullExecution> {
    return this.#read(`execution/${id}`);
  }

  explain(id: number): Promise<ExplanationJson> {
    return this.#read(`execution/${id}/explain`);
  }

  /** Explains what would happen to a submission now. */
  async explainSubmission(described: Application): Promise<ExplanationJson> {
    const reply = await this.http.post('execution/explain', { application: described });
    expect(reply.status, reply.text).toBe(200);
    return reply.json<ExplanationJson>();
  }

  list(): Promise<Record<string, FullExecution>> {
    return this.#read('execution');
  }

  service(id: number): Promise<ServiceJson & { execution_id: number; description: unknown }> {
    return this.#read(`service/${id}`);
  }

  endpoints(id: number): Promise<[string, string][]> {
    return this.#read(`execution/endpoints/${id}`);
  }

  discovery(id: number | string, group: string): Promise<Record<string, unknown>> {
    return this.#read(`discovery/by_group/${id}/${group}`);
  }

  statistics(): Promise<StatisticsJson> {
    return this.#read('statistics/scheduler');
  }

  async terminate(id: number): Promise<void> {
    expect(await this.http.delete(`execution/${id}`)).toMatchObject({ status: 200, text: '' });
  }

  async remove(id: number): Promise<void> {
    expect(await this.http.delete(`execution/delete/${id}`)).toMatchObject({ status: 200, text: '' });
  }

  async reached(id: number, status: string): Promise<FullExecution> {
    let last: FullExecution | undefined;
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
