/**
 * Converts values that an earlier Berth than 0.1.0 encrypted, in another form, to JWE. One statement replaces
 * each value, so that an interrupted start loses nothing and the next one continues.
 */
import { createHash } from 'node:crypto';
import type { Sealed, SecretPlace } from '../../core/accounts/secret.ts';
import { listOutdated, resealed } from '../../store/accounts/user-secrets.ts';
import type { Db } from '../../store/db/db.ts';
import { Seal, textOf } from './seal.ts';

const NONCE_BYTES = 12;
/** Values in memory at a time: some MiB at most. */
const MAX_AT_ONCE = 20;

/** `keys` as in Seal. Resolves to the number of converted values. Unreadable ones stay as they are. */
export async function convertEarlierSecrets(db: Db, keys: readonly string[]): Promise<number> {
  const [seal, earlier] = [new Seal(keys), new Map(keys.map(earlierKey))];
  let converted = 0;
  for (let afterId = 0; earlier.size > 0; ) {
    const terms = { keyId: seal.keyId, others: [...earlier.keys()], afterId, limit: MAX_AT_ONCE };
    const secrets = await listOutdated(db, terms);
    for (const secret of secrets) {
      afterId = secret.id;
      const value = await openEarlier(earlier, secret, secret.sealed).catch(() => undefined);
      if (!value) continue;
      const [replaced = 0] = await db.batch([resealed(secret, await seal.close(secret, value))]);
      converted += replaced;
    }
    if (secrets.length < MAX_AT_ONCE) break;
  }
  return converted;
}

function earlierKey(text: string): [string, Uint8Array<ArrayBuffer>] {
  const key = Uint8Array.from(Buffer.from(text, 'base64'));
  const id = createHash('sha256').update('berth secret key ').update(key).digest('hex').slice(0, 16);
  return [id, key];
}

/** The nonce, then what is encrypted, in base64. Throws an error if the row was changed. */
async function openEarlier(
  keys: ReadonlyMap<string, Uint8Array<ArrayBuffer>>,
  place: SecretPlace,
  { keyId, text }: Sealed,
): Promise<Uint8Array> {
  const raw = keys.get(keyId);
  if (!raw) throw new Error(`no key ${keyId}`);
  const bytes = Uint8Array.from(Buffer.from(text, 'base64'));
  const key = await crypto.subtle.importKey('raw', raw, 'AES-GCM', false, ['decrypt']);
  const iv = bytes.subarray(0, NONCE_BYTES);
  const additionalData = Uint8Array.from(Buffer.from(textOf(place)));
  const closed = bytes.subarray(NONCE_BYTES);
  return new Uint8Array(await crypto.subtle.decrypt({ name: 'AES-GCM', iv, additionalData }, key, closed));
}
