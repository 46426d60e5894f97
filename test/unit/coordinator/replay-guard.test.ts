import { expect, test } from 'vitest';
import { ReplayGuard } from '../../../control-plane/coordinator/agents/replay-guard.ts';

const MINUTE_MS = 60_000;
const pass = (hostId: number, proofId: string, expiresMs: number) => ({ hostId, proofId, expiresMs });

test('P19: a proof lets in once, as long as it is worth anything', () => {
  const proofs = new ReplayGuard();
  proofs.use(pass(1, 'a', 2 * MINUTE_MS), MINUTE_MS);
  expect(() => proofs.use(pass(1, 'a', 2 * MINUTE_MS), 2 * MINUTE_MS - 1)).toThrow('was used before');
  proofs.use(pass(2, 'a', 2 * MINUTE_MS), MINUTE_MS);
});

test('P19: nothing is kept of hosts that do not come back', () => {
  const proofs = new ReplayGuard();
  for (let hostId = 1; hostId <= 100; hostId++) proofs.use(pass(hostId, 'a', 3 * MINUTE_MS), MINUTE_MS);
  expect(proofs.hosts).toBe(100);
  proofs.use(pass(101, 'a', 5 * MINUTE_MS), 3 * MINUTE_MS);
  expect(proofs.hosts).toBe(1);
});

test('P19: a host that connects without end is told to wait, and let in again', () => {
  const proofs = new ReplayGuard();
  for (let n = 0; n < 1_000; n++) proofs.use(pass(1, `p${n}`, 2 * MINUTE_MS), MINUTE_MS);
  expect(() => proofs.use(pass(1, 'more', 2 * MINUTE_MS), MINUTE_MS)).toThrow('connects too often');
  proofs.use(pass(1, 'more', 4 * MINUTE_MS), 2 * MINUTE_MS);
});
