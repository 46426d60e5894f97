/**
 * Descriptions that were valid a short time ago, by their text. An application that is submitted again and
 * again is validated once. Their number and their length are bounded.
 */
import type { Application } from '../../../shared/application-schema.ts';
import { RecentMap } from '../../core/model/recent-map.ts';

/** A longer description is rarely submitted often, and would leave room for few others. */
export const MAX_KNOWN_LENGTH = 8 * 1024;
const MAX_DESCRIPTIONS = 64;

export class KnownDescriptions {
  /** In the order of last use. */
  readonly #applications = new RecentMap<string, Application>(MAX_DESCRIPTIONS);

  /** The application that this text describes, if it is known. It must not be changed. */
  find(text: string): Application | undefined {
    const application = this.#applications.get(text);
    if (application) this.#applications.set(text, application);
    return application;
  }

  /** Adds a valid description. */
  add(text: string, application: Application): void {
    if (text.length <= MAX_KNOWN_LENGTH) this.#applications.set(text, application);
  }
}
