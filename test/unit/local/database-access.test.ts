import { createPublicKey, verify } from 'node:crypto';
import { expect, test } from 'vitest';
import { makeDatabaseAccess } from '../../../control-plane/local/database-access.ts';

test('H340: each start makes a new key, which no earlier token fits', () => {
  const [earlier, later] = [makeDatabaseAccess(), makeDatabaseAccess()];
  const isSignedBy = (token: string, x: string) => {
    const [head, claims, signature = ''] = token.split('.');
    const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
    return verify(null, Buffer.from(`${head}.${claims}`), key, Buffer.from(signature, 'base64url'));
  };
  expect(isSignedBy(later.token, later.publicKey)).toBe(true);
  expect(isSignedBy(earlier.token, later.publicKey)).toBe(false);
});
