/** A person with a browser without script: remembers cookies by site, and follows redirects one by one. */

export interface Seen {
  url: string;
  status: number;
  headers: Headers;
  text: string;
}

/** As a browser sends them when a person follows a link of the site itself. */
const OWN = { 'sec-fetch-site': 'same-origin' };

export class Visitor {
  readonly #jars = new Map<string, Map<string, { value: string; path: string }>>();

  async open(url: string, { method = 'GET', headers = {}, body }: RequestInit = {}): Promise<Seen> {
    const sent = { accept: 'text/html', 'cf-connecting-ip': '127.0.0.1', cookie: this.cookiesFor(url) };
    const response = await fetch(url, {
      ...{ method, redirect: 'manual' },
      ...(body !== undefined && { body }),
      headers: { ...sent, ...(headers as Record<string, string>) },
    });
    this.#remember(url, response.headers);
    return { url, status: response.status, headers: response.headers, text: await response.text() };
  }

  /** Opens a page and follows its redirects, until one of them leads to `until`, which is not opened. */
  async follow(url: string, until?: (url: string) => boolean): Promise<Seen> {
    let seen = await this.open(url, { headers: OWN });
    for (let steps = 0; steps < 20; steps++) {
      const location = seen.headers.get('location');
      if (location === null) return seen;
      const next = new URL(location, seen.url).href;
      if (until?.(next)) return { ...seen, url: next };
      seen = await this.open(next, { headers: { 'sec-fetch-site': 'cross-site' } });
    }
    throw new Error(`${url} redirects without an end`);
  }

  /** Signs on at a control plane. Resolves to the page that is shown in the end. */
  signOn(berth: string, next = '/account'): Promise<Seen> {
    return this.follow(`${berth}/login/oidc?next=${encodeURIComponent(next)}`);
  }

  /** Goes to the provider and back, and resolves to the address of the callback, not opened yet. */
  async toCallback(berth: string): Promise<string> {
    const { url } = await this.follow(`${berth}/login/oidc`, (next) =>
      next.includes('/login/oidc/callback?'),
    );
    return url;
  }

  cookiesFor(url: string): string {
    const { host, pathname } = new URL(url);
    const all = [...(this.#jars.get(host) ?? [])].filter(([, { path }]) => pathname.startsWith(path));
    return all.map(([name, { value }]) => `${name}=${value}`).join('; ');
  }

  /** Loses the cookies of a site. */
  forget(url: string): void {
    this.#jars.delete(new URL(url).host);
  }

  #remember(url: string, headers: Headers): void {
    const { host } = new URL(url);
    const jar = this.#jars.get(host) ?? new Map<string, { value: string; path: string }>();
    this.#jars.set(host, jar);
    for (const cookie of headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
      const path = /; *path=([^;]*)/i.exec(cookie)?.[1] ?? '/';
      if (value === '' || /max-age=0\b/i.test(cookie)) jar.delete(name);
      else jar.set(name, { value, path });
    }
  }
}
