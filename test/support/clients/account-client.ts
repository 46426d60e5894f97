/**
 * Actions on users, roles and quotas as the administrator. Every action checks that its request succeeded.
 */
import { expect } from 'vitest';
import { ADMIN_PASSWORD, type Host } from '../hosts/hosts.ts';
import { basic, HttpClient } from './http-client.ts';

export type Fields = Record<string, unknown>;
export type Kind = 'user' | 'role' | 'quota';

/** Ids of the seeded roles. */
export const ROLE = { admin: 1, superuser: 2, user: 3 };

/** The required fields of a new user, besides the name. */
export const plain = { role_id: ROLE.user, quota_id: 1 };

export class AccountClient {
  readonly anonymous: HttpClient;
  readonly admin: HttpClient;

  constructor(host: () => Pick<Host, 'url'>) {
    this.anonymous = new HttpClient(() => host().url());
    this.admin = this.as('admin', ADMIN_PASSWORD);
  }

  as(username: string, password = 'secret words'): HttpClient {
    return this.anonymous.with(basic(username, password));
  }

  async create(kind: Kind, fields: Fields): Promise<number> {
    const reply = await this.admin.post(kind, fields);
    expect(reply.status, reply.text).toBe(200);
    return Number(reply.json()[`${kind}_id`]);
  }

  async read(kind: Kind, id: number): Promise<Fields> {
    const reply = await this.admin.get(`${kind}/${id}`);
    expect(reply.status, reply.text).toBe(200);
    return reply.json<Record<string, Fields>>()[kind] ?? {};
  }

  async update(kind: Kind, id: number, fields: Fields): Promise<void> {
    expect(await this.admin.post(`${kind}/${id}`, fields)).toMatchObject({ status: 200, text: '' });
  }

  async remove(kind: Kind, id: number): Promise<void> {
    expect(await this.admin.delete(`${kind}/${id}`)).toMatchObject({ status: 200, text: '' });
  }

  /** Adds a user who can log in. */
  async addUser(username: string, fields: Fields = {}, password = 'secret words'): Promise<number> {
    const id = await this.create('user', { username, ...plain, ...fields });
    await this.update('user', id, { password });
    return id;
  }

  async statusOf(method: string, path: string, body?: unknown, client = this.admin): Promise<number> {
    return (await client.send(method, path, body === undefined ? undefined : JSON.stringify(body))).status;
  }
}
