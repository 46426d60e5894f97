/** Actions of administrators on hosts for tests of the API, on top of HttpClient. */
import { expect } from 'vitest';
import { eventually } from '../tools/eventually.ts';
import type { HttpClient, Reply } from './http-client.ts';

export interface HostJson {
  id: number;
  name: string;
  state: string;
  connected: boolean;
  agent_version: string;
  lost: boolean;
  schedulable: boolean;
  labels: string[];
  admin_labels: string[];
  pending: { labels: string[]; memory: number; cores: number } | null;
  memory_total: number;
  memory_reserved: number;
  memory_limits: number;
  memory_used: number | null;
  cores_total: number;
  cores_reserved: number;
  cores_used: number | null;
  containers: number;
  last_contact: number;
  conditions: { kind: string; text: string }[];
}

export interface HostDetailJson extends HostJson {
  services: {
    id: number;
    name: string;
    execution_id: number;
    essential: boolean;
    status: string;
    backend_status: string;
  }[];
}

export class HostClient {
  readonly #http: HttpClient;

  constructor(http: HttpClient) {
    this.#http = http;
  }

  async named(name: string): Promise<HostJson> {
    const reply = await this.#http.get(`host?name=${encodeURIComponent(name)}`);
    expect(reply.status, reply.text).toBe(200);
    const [found] = Object.values(reply.json<Record<string, HostJson>>());
    if (!found) throw new Error(`host ${name} does not exist`);
    return found;
  }

  async read(id: number): Promise<HostDetailJson> {
    const reply = await this.#http.get(`host/${id}`);
    expect(reply.status, reply.text).toBe(200);
    return reply.json<{ host: HostDetailJson }>().host;
  }

  async change(id: number, changes: object): Promise<void> {
    expect(await this.#http.post(`host/${id}`, changes)).toMatchObject({ status: 200, text: '' });
  }

  remove(id: number, { force = false } = {}): Promise<Reply> {
    return this.#http.delete(`host/${id}${force ? '?force=true' : ''}`);
  }

  async reached(id: number, state: string): Promise<HostDetailJson> {
    await eventually(async () => (await this.read(id)).state === state);
    return this.read(id);
  }
}
