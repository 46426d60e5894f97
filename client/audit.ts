/** Reads the audit log, page by page. */
import type { AuditEntry } from './api-types.ts';
import type { Requests } from './resources.ts';

/** Times in seconds since 1970. */
export interface AuditFilter {
  user?: string;
  action?: string;
  target?: string;
  since?: number;
  until?: number;
}

/** Entries of one request. */
const PAGE_SIZE = 1_000;

export class Audit {
  readonly #requests: Requests;

  constructor(requests: Requests) {
    this.#requests = requests;
  }

  /** The latest entries that pass the filter, newest first: at most `limit`. */
  async latest(filter: AuditFilter, limit: number): Promise<AuditEntry[]> {
    const entries: AuditEntry[] = [];
    for (;;) {
      const size = Math.min(PAGE_SIZE, limit - entries.length);
      const page = size > 0 ? await this.#page(filter, size, entries.at(-1)?.id) : [];
      entries.push(...page);
      if (page.length < size || size <= 0) return entries;
    }
  }

  async #page(filter: AuditFilter, limit: number, before: number | undefined): Promise<AuditEntry[]> {
    const query = new URLSearchParams({ limit: String(limit) });
    if (before !== undefined) query.set('before', String(before));
    for (const [name, value] of Object.entries(filter)) query.set(name, String(value));
    const text = await this.#requests.ask('GET', `audit?${query}`);
    const all = JSON.parse(text) as Record<string, AuditEntry>;
    return Object.values(all).sort((one, other) => other.id - one.id);
  }
}
