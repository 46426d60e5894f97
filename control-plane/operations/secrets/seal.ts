/**
 * Encrypts the values of secrets before they are stored, and decrypts them for a start: AES-256-GCM by
 * WebCrypto, with keys of the settings. Never stores or logs anything (ACC-18).
 */
import { createHash } from 'node:crypto';
import { noSecretKey, type Sealed, type SecretPlace } from '../../core/accounts/secret.ts';

const NONCE_BYTES = 12;
const KEY_ID_LENGTH = 16;

type ImportedKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>;

export class Seal {
  /** By id, the one that encrypts first. */
  readonly #keys: ReadonlyMap<string, Uint8Array<ArrayBuffer>>;
  readonly #imported = new Map<string, ImportedKey>();

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
    const iv = crypto.getRandomValues(new Uint8Array(NONCE_BYTES));
    const key = await this.#key(keyId);
    const closed = await crypto.subtle.encrypt(
      { name: 'AES-GCM', iv, additionalData: boundTo(place) },
      key,
      Uint8Array.from(value),
    );
    return { keyId, text: Buffer.concat([iv, Buffer.from(closed)]).toString('base64') };
  }

  /** Throws an error, without the value, if the row was changed or its key is not there. */
  async open(place: SecretPlace, { keyId, text }: Sealed): Promise<Uint8Array> {
    const bytes = Uint8Array.from(Buffer.from(text, 'base64'));
    const iv = bytes.subarray(0, NONCE_BYTES);
    const key = await this.#key(keyId);
    const closed = bytes.subarray(NONCE_BYTES);
    return new Uint8Array(
      await crypto.subtle.decrypt({ name: 'AES-GCM', iv, additionalData: boundTo(place) }, key, closed),
    );
  }

  async #key(keyId: string): Promise<ImportedKey> {
    const known = this.#imported.get(keyId);
    if (known) return known;
    const key = this.#keys.get(keyId);
    if (!key) throw new Error(`no key ${keyId} in BERTH_SECRET_KEYS`);
    const imported = await crypto.subtle.importKey('raw', key, 'AES-GCM', false, ['encrypt', 'decrypt']);
    this.#imported.set(keyId, imported);
    return imported;
  }
}

/** Reveals nothing about the key, and is the same wherever the key stands in the setting. */
const keyIdOf = (key: Uint8Array): string =>
  createHash('sha256').update('berth secret key ').update(key).digest('hex').slice(0, KEY_ID_LENGTH);

const boundTo = ({ kind, userId, name }: SecretPlace): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(Buffer.from(`berth ${kind} ${userId ?? 'all'} ${name}`));
