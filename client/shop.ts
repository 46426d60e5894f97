/** The app shop: applications of the site, each with parameters to fill in. */
import type { Application, ShopEntry, ShopEntryDetail } from './api-types.ts';
import type { Requests } from './resources.ts';

export class Shop {
  readonly #requests: Requests;

  constructor(requests: Requests) {
    this.#requests = requests;
  }

  /** What the user may see, in the order of the shop. */
  async list(): Promise<ShopEntry[]> {
    return Object.values(JSON.parse(await this.#requests.ask('GET', 'shop')) as Record<string, ShopEntry>);
  }

  async get(id: string): Promise<ShopEntryDetail> {
    return JSON.parse(await this.#requests.ask('GET', pathOf(id))) as ShopEntryDetail;
  }

  /** The description with these values, by the keys of parameters; the others have their defaults. */
  async fillIn(id: string, values: Readonly<Record<string, string>> = {}): Promise<Application> {
    const answer = await this.#requests.ask('POST', pathOf(id), { values });
    return (JSON.parse(answer) as { application: Application }).application;
  }
}

const pathOf = (id: string): string => `shop/${encodeURIComponent(id)}`;
