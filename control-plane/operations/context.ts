/** Context: what every operation receives besides the actor and its input. */
import type { CoordinatorApi } from '../coordinator/coordinator-api.ts';
import type { SignOnSettings } from '../core/accounts/sign-on.ts';
import type { RequestKey } from '../core/model/idempotency.ts';
import type { Db } from '../store/db/db.ts';
import type { ReadTurns } from './read-turns.ts';
import type { Seal } from './secrets/seal.ts';

export interface Context {
  db: Db;
  coordinator: CoordinatorApi;
  deploymentName: string;
  /** In characters, of new passwords. */
  minPasswordLength: number;
  /** For reads of long descriptions and lists. */
  turns: ReadTurns;
  /** Encrypts and decrypts the values of secrets. */
  seal: Seal;
  nowMs: () => number;
  /** Undefined if nobody signs on by a provider. */
  signOn?: SignOnSettings | undefined;
}

/** Reads the idempotency key of a request, if it has one. Called after the input was read. */
export type ReadKey = () => RequestKey | undefined;
