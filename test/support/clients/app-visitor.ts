/** A browser at web applications, without script: keeps the cookies of each host, and knows where it is. */
import { expect } from 'vitest';
import type { Host } from '../hosts/hosts.ts';
import { HttpClient, type Reply } from './http-client.ts';
import type { WebClient } from './web-client.ts';

/** As browsers send them when a person opens a page. */
export const VISIT = {
  accept: 'text/html',
  'sec-fetch-site': 'none',
  'sec-fetch-mode': 'navigate',
  'sec-fetch-dest': 'document',
};

export class AppVisitor {
  readonly #host: () => Host;
  readonly #cookies = new Map<string, string>();

  constructor(host: () => Host) {
    this.#host = host;
  }

  /** Sends a request to the application at `name`, a host name. */
  async send(
    name: string,
    path: string,
    headers: Record<string, string> = VISIT,
    method = 'GET',
  ): Promise<Reply> {
    const cookie = this.#cookies.get(name);
    const http = new HttpClient(() => this.#host().url(), {
      host: name,
      ...(cookie && { cookie }),
      ...headers,
    });
    const reply = await http.send(method, path);
    for (const one of reply.headers['set-cookie'] ?? []) this.keep(name, one.split(';')[0] ?? '');
    return reply;
  }

  /** Adds a cookie, in place of one of the same name. */
  keep(name: string, pair: string): void {
    const start = `${pair.split('=')[0]}=`;
    const others = (this.#cookies.get(name) ?? '').split('; ').filter((one) => one && !one.startsWith(start));
    this.#cookies.set(name, [...others, pair].join('; '));
  }

  cookiesFor = (name: string): string => this.#cookies.get(name) ?? '';

  /** Opens a page without a pass. Resolves to the path at Berth to which it leads. */
  async begin(name: string, path = '/'): Promise<string> {
    const { status, headers } = await this.send(name, path);
    expect(status).toBe(303);
    const { pathname, search } = new URL(headers.location ?? '');
    return pathname + search;
  }

  /** Goes by Berth, with a session there. Resolves to the path with the ticket. */
  async ticket(name: string, session: WebClient, path = '/'): Promise<string> {
    const { status, headers, text } = await session.get(await this.begin(name, path));
    expect(status, text).toBe(303);
    const url = new URL(headers.location ?? '');
    expect(url.host).toBe(name);
    return url.pathname + url.search;
  }

  /** Opens a page with all that belongs to it. Resolves to the answer at the application. */
  async open(name: string, session: WebClient, path = '/'): Promise<Reply> {
    const { status, headers } = await this.send(name, await this.ticket(name, session, path));
    expect([status, headers.location]).toEqual([303, path]);
    return this.send(name, path);
  }
}
