/** Expected proofs: hints about credentials, which never outlive what the database said last. */
import { expect, test } from 'vitest';
import type { Authenticated } from '../../../control-plane/core/accounts/account.ts';
import { ExpectedProofs } from '../../../control-plane/operations/accounts/expected-proofs.ts';

const none: Authenticated = { by: 'none', actor: { kind: 'anonymous' } };
const token = (tokenHash: string): Authenticated => ({ ...none, by: 'token', tokenHash });

test('H382: what a credential proved is expected of it, until it proves nothing or is refused', async () => {
  const proofs = new ExpectedProofs();
  const answers: (() => Promise<Authenticated>)[] = [
    async () => token('a'),
    async () => none,
    async () => token('b'),
    () => Promise.reject(new Error('revoked')),
  ];
  const expected: unknown[] = [];
  for (const answer of answers) {
    const claim = proofs.claim('key', answer);
    expected.push(claim.expected);
    await claim.prove().catch(() => {});
  }
  expected.push(proofs.claim('key', async () => none).expected);
  expect(expected).toEqual([undefined, token('a'), undefined, token('b'), undefined]);
});

test('H382: at most 10,000 credentials are remembered, the latest', async () => {
  const proofs = new ExpectedProofs();
  for (let n = 0; n <= 10_000; n++) await proofs.claim(`key ${n}`, async () => token('a')).prove();
  const expected = [0, 1, 10_000].map((n) => proofs.claim(`key ${n}`, async () => none).expected);
  expect(expected).toEqual([undefined, token('a'), token('a')]);
});
