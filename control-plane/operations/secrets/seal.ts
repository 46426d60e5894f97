/**
 * Encrypts the values of secrets before they are stored, and decrypts them for a start: JWE (RFC 7516) with
 * AES-256-GCM and keys of the settings. Never stores or logs anything (ACC-18).
 */
import { createHash } from 'node:crypto';
import { compactDecrypt } from 'jose/jwe/compact/decrypt';
import { CompactEncrypt } from 'jose/jwe/compact/encrypt';
import { noSecretKey, type Sealed, type SecretPlace } from '../../core/accounts/secret.ts';

const KEY_ID_LENGTH = 16;

export class Seal {
  /** By id, the one that encrypts first. */
  readonly #keys: ReadonlyMap<string, Uint8Array>;

  /** `keys`: 32 bytes each in base64. The first encrypts. None: nothing can be stored or read. */
  constructor(keys: readonly string[]) {
    const decoded = keys.map((key) => Uint8Array.from(Buffer.from(key, 'base64')));
    this.#keys = new Map(decoded.map((key) => [keyIdOf(key), key]));
  }

  /** Ids of the keys, the one that encrypts first. */
  get keyIds(): string[] {
    return [...this.#keys.keys()];
  }

  /** The id of the key that encrypts. Throws `conflict` if there is none. */
  get keyId(): string {
    const [first] = this.#keys.keys();
    if (first === undefined) throw noSecretKey();
    return first;
  }

  canOpen(keyId: string): boolean {
    return this.#keys.has(keyId);
  }

  /** The place is bound to the value: a row that is copied to another name can't be decrypted. */
  async close(place: SecretPlace, value: Uint8Array): Promise<Sealed> {
    const { keyId } = this;
    const text = await new CompactEncrypt(value)
      .setProtectedHeader({ alg: 'dir', enc: 'A256GCM', kid: keyId, place: textOf(place) })
      .encrypt(this.#key(keyId));
    return { keyId, text };
  }

  /** Throws an error, without the value, if the row was changed or its key is not there. */
  async open(place: SecretPlace, { keyId, text }: Sealed): Promise<Uint8Array> {
    const { plaintext, protectedHeader } = await compactDecrypt(text, this.#key(keyId), {
      keyManagementAlgorithms: ['dir'],
      contentEncryptionAlgorithms: ['A256GCM'],
    });
    if (protectedHeader.place !== textOf(place)) throw new Error('the value belongs to another secret');
    return plaintext;
  }

  #key(keyId: string): Uint8Array {
    const key = this.#keys.get(keyId);
    if (!key) throw new Error(`no key ${keyId} in BERTH_SECRET_KEYS`);
    return key;
  }
}

/** Reveals nothing about the key, and is the same wherever the key stands in the setting. */
const keyIdOf = (key: Uint8Array): string =>
  createHash('sha256').update('berth JWE key ').update(key).digest('hex').slice(0, KEY_ID_LENGTH);

/** What the value is bound to. */
export const textOf = ({ kind, userId, name }: SecretPlace): string =>
  `berth ${kind} ${userId ?? 'all'} ${name}`;
