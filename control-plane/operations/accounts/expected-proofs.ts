/**
 * What sessions and tokens proved when they were last read. A hint, never a proof: it only lets a request
 * begin with its work while the database is asked who it is (ACC-9).
 */
import type { Actor, Authenticated } from '../../core/accounts/account.ts';
import { RecentMap } from '../../core/model/recent-map.ts';

/** The credentials of a request, before the database has been asked. */
export interface Claim {
  /** What `prove` will most likely resolve to; undefined if that is not known. */
  expected?: Authenticated | undefined;
  /** Asks the database. Rejects if the credentials are wrong. */
  prove(): Promise<Authenticated>;
}

const MAX_REMEMBERED = 10_000;

export class ExpectedProofs {
  /** By kind and hash of the credential; oldest first. */
  readonly #proofs = new RecentMap<string, Authenticated>(MAX_REMEMBERED);

  /** A claim by the credential `key`, which `find` looks up. */
  claim(key: string, find: () => Promise<Authenticated>): Claim {
    return {
      expected: this.#proofs.get(key),
      prove: async () => {
        try {
          const proof = await find();
          if (proof.by === 'none') this.#proofs.delete(key);
          else this.#proofs.set(key, proof);
          return proof;
        } catch (error) {
          this.#proofs.delete(key);
          throw error;
        }
      },
    };
  }
}

/** Whether two proofs are of the same credential, and of the same user as the answers show it. */
export const isSameProof = (one: Authenticated, other: Authenticated): boolean =>
  JSON.stringify(one.actor) === JSON.stringify(other.actor);

/**
 * Whether two proofs admit the same: the same credential of the same user, with the same rights. Fields such
 * as the e-mail address may have changed.
 */
export const admitsSame = (one: Authenticated, other: Authenticated): boolean =>
  JSON.stringify(rightsOf(one.actor)) === JSON.stringify(rightsOf(other.actor));

const rightsOf = (actor: Actor) =>
  actor.kind === 'user' && [
    actor.credential,
    actor.role,
    actor.user.id,
    actor.user.credentialVersion,
    actor.user.enabled,
    actor.user.authSource,
  ];
