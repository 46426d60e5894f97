/** A new key pair for a libSQL server on this machine, and the token that the server then requires. */
import { generateKeyPairSync, sign } from 'node:crypto';

export interface DatabaseAccess {
  /** Ed25519, as sqld reads it from `SQLD_AUTH_JWT_KEY`. */
  publicKey: string;
  /** A JWT that allows reading and writing. It does not expire: a new start makes a new pair. */
  token: string;
}

export function makeDatabaseAccess(): DatabaseAccess {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const claims = `${encoded({ alg: 'EdDSA', typ: 'JWT' })}.${encoded({ a: 'rw' })}`;
  const signature = sign(null, Buffer.from(claims), privateKey).toString('base64url');
  return { publicKey: String(publicKey.export({ format: 'jwk' }).x), token: `${claims}.${signature}` };
}

const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
