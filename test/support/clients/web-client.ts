/** A browser without script for tests of pages: logs in by the form, reads pages as text, and sends forms. */
import type { Host } from '../hosts/hosts.ts';
import { HttpClient, type Reply } from './http-client.ts';

export const PAGE = { accept: 'text/html' };

export type Fields = Record<string, string> | [name: string, value: string][];
export const formOf = (fields: Fields): string => new URLSearchParams(fields).toString();

/** What a browser shows of text in a page. */
export const shown = (html = ''): string =>
  html
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');

/** The session cookie that a reply sets, as a request sends it; '' if there is none. */
export function sessionOf({ headers }: Reply): string {
  const cookies = headers['set-cookie'] ?? [];
  return cookies.map((one) => one.split(';')[0]).find((one) => one?.startsWith('berth_session=')) ?? '';
}

export class WebClient {
  readonly #http: HttpClient;
  /** The same session for requests to the API. */
  readonly cookie: string;

  constructor(http: HttpClient, cookie: string) {
    this.#http = http.with({ cookie });
    this.cookie = cookie;
  }

  static async logIn(
    host: () => Host,
    username = 'admin',
    password = host().adminPassword,
  ): Promise<WebClient> {
    const anyone = new HttpClient(() => host().url(), PAGE);
    const cookie = sessionOf(await anyone.send('POST', '/login', formOf({ username, password })));
    if (cookie === '') throw new Error(`${username} could not log in`);
    return new WebClient(anyone, cookie);
  }

  get(path: string, headers?: Record<string, string>): Promise<Reply> {
    return (headers ? this.#http.with(headers) : this.#http).get(path);
  }

  post(path: string, fields: Fields = {}): Promise<Reply> {
    return this.#http.send('POST', path, formOf(fields));
  }

  /** Sends a form and follows its redirect with the notice, as a browser does. */
  async act(path: string, fields: Fields = {}): Promise<Reply> {
    const { status, headers, text } = await this.post(path, fields);
    if (status !== 303) throw new Error(`POST ${path}: ${status} ${text}`);
    const notices = (headers['set-cookie'] ?? []).map((cookie) => cookie.split(';')[0] ?? '');
    const notice = notices.find((one) => one.startsWith('berth_notice='));
    return this.#http
      .with(notice ? { cookie: `${this.cookie}; ${notice}` } : {})
      .get(headers.location ?? '/');
  }
}
