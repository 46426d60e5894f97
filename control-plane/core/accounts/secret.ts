/** Named secrets and files of users and of all, and credentials: their kinds, names and limits. Pure. */
import { OperationError } from '../model/errors.ts';
import { count, listText } from '../model/text.ts';

/** `secret`: text for environment variables. `file`: bytes that containers see as a file. */
export const secretKinds = ['secret', 'file'] as const;
export type SecretKind = (typeof secretKinds)[number];

/** What is stored in the same way: the credentials of a registry, whose name is that of its host. */
export type StoredKind = SecretKind | 'registry';

/** Bytes of one value, which is a part of an environment variable of at most 131,071 bytes. */
export const MAX_SECRET_BYTES = 64 * 2 ** 10;
export const MAX_FILE_BYTES = 256 * 2 ** 10;

/** What a name of a secret names. `userId` null: a secret of all users. */
export interface SecretPlace {
  kind: StoredKind;
  userId: number | null;
  name: string;
}

export interface Secret extends SecretPlace {
  id: number;
  /** Bytes of the value. */
  bytes: number;
  /** The key that it is encrypted with. */
  keyId: string;
  setMs: number;
}

/** An encrypted value, as text. */
export interface Sealed {
  keyId: string;
  text: string;
}

/** A value to be stored, with the number of its bytes. */
export interface NewSecret extends SecretPlace {
  sealed: Sealed;
  bytes: number;
}

export interface SecretTerms {
  maxPerUser: number;
  setMs: number;
  /** Who sets it, whose right counts as of the write (H635). */
  byUserId: number;
}

export interface SecretRules {
  /** Secrets, files and credentials together, of each user and of all. */
  maxPerUser: number;
}

/** What the settings say of secrets. */
export interface SecretSettings {
  secretRules: SecretRules;
  /** Keys of the values, 32 bytes each in base64. The first encrypts. */
  secretKeys: readonly string[];
  /** Bytes of secrets that a host may fetch at once (P240). */
  secretFetchBytes: number;
}

/** A secret by its name, as descriptions refer to it. */
export type SecretName = { kind: SecretKind; name: string };

export const noSuchSecret = () => new OperationError('not-found', 'There is no such secret or file.');

export const noSecretKey = () =>
  new OperationError(
    'conflict',
    'This control plane stores no secrets: BERTH_SECRET_KEYS is not set. An operator sets it to the output of ' +
      '`openssl rand -base64 32`.',
  );

export const tooManySecrets = ({ maxPerUser }: SecretRules, isOfAll: boolean) =>
  new OperationError(
    'conflict',
    `${isOfAll ? 'All users together' : 'You'} have ${count(maxPerUser, 'secret')}, files and registries, which is the limit ` +
      '(BERTH_LIMITS.secretsPerUser): remove one that is no longer needed.',
  );

/** What is wrong with secrets that a description refers to; undefined if nothing is. */
export function secretProblem(
  missing: readonly SecretName[],
  unreadable: readonly SecretName[],
): string | undefined {
  if (missing.length > 0)
    return `There is no ${namesOf(missing)}: set it with \`berth ${missing[0]?.kind} set ${missing[0]?.name}\`.`;
  if (unreadable.length > 0)
    return (
      `The key of ${namesOf(unreadable)} is no longer in BERTH_SECRET_KEYS: an operator must add that key again, or ` +
      `the value must be set again with \`berth ${unreadable[0]?.kind} set ${unreadable[0]?.name}\`.`
    );
  return undefined;
}

const MAX_NAMED = 10;
const namesOf = (names: readonly SecretName[]): string =>
  listText(
    names.map(({ kind, name }) => `${kind} ${name}`),
    MAX_NAMED,
  );
