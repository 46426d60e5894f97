/** Actions of administrators on hosts for tests of the API, on top of HttpClient. */
import { expect } from 'vitest';
import type { Host, HostDetail } from '../../../client/api-types.ts';
import { eventually } from '../tools/eventually.ts';
import type { HttpClient, Reply } from './http-client.ts';

export class HostClient {
  readonly #http: HttpClient;

  constructor(http: HttpClient) {
    this.#http = http;
  }

  async named(name: string): Promise<Host> {
    const reply = await this.#http.get(`host?name=${encodeURIComponent(name)}`);
    expect(reply.status, reply.text).toBe(200);
    const [found] = Object.values(reply.json<Record<string, Host>>());
    if (!found) throw new Error(`host ${name} does not exist`);
    return found;
  }

  async read(id: number): Promise<HostDetail> {
    const reply = await this.#http.get(`host/${id}`);
    expect(reply.status, reply.text).toBe(200);
    return reply.json<{ host: HostDetail }>().host;
  }

  async change(id: number, changes: object): Promise<void> {
    expect(await this.#http.post(`host/${id}`, changes)).toMatchObject({ status: 200, text: '' });
  }

  remove(id: number, { force = false } = {}): Promise<Reply> {
    return this.#http.delete(`host/${id}${force ? '?force=true' : ''}`);
  }

  async reached(id: number, state: string): Promise<HostDetail> {
    await eventually(async () => (await this.read(id)).state === state);
    return this.read(id);
  }
}
