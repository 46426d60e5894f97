/**
 * Credentials of registries: who has some for which registry, by their fingerprints (P232). Never a user name
 * or a password. Pure.
 */
import { imageRegistry } from '../../../shared/protocol/secrets.ts';
import { OperationError } from '../model/errors.ts';

/** `userId` null: for all users. */
export interface CredentialsPlace {
  userId: number | null;
  registry: string;
}

/** Those that are stored, without their values. */
export interface StoredCredentials extends CredentialsPlace {
  id: number;
  /** Each time they are set it is a later one. */
  setMs: number;
}

/** Another one each time that credentials are set. */
export const fingerprintOf = ({ id, setMs }: Pick<StoredCredentials, 'id' | 'setMs'>): string =>
  `${id}.${setMs}`;

export const noSuchCredentials = () => new OperationError('not-found', 'There are no such credentials.');

/** All users' credentials. BERTH_LIMITS.secretsPerUser bounds those of each. */
export class CredentialIndex {
  /** Fingerprints by user and registry. */
  readonly #byUser = new Map<number | null, Map<string, string>>();

  set(stored: StoredCredentials): void {
    const own = this.#byUser.get(stored.userId) ?? new Map<string, string>();
    own.set(stored.registry, fingerprintOf(stored));
    this.#byUser.set(stored.userId, own);
  }

  remove({ userId, registry }: CredentialsPlace): void {
    const own = this.#byUser.get(userId);
    own?.delete(registry);
    if (own?.size === 0) this.#byUser.delete(userId);
  }

  removeAllOf(userId: number): void {
    this.#byUser.delete(userId);
  }

  /** The fingerprint of what a user's pull of the image uses: the user's own, or else those of all. */
  forPull(userId: number, image: string): string | undefined {
    if (this.#byUser.size === 0) return undefined;
    const registry = imageRegistry(image);
    return this.#byUser.get(userId)?.get(registry) ?? this.#byUser.get(null)?.get(registry);
  }
}
