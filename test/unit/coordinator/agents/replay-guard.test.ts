import { expect, test } from 'vitest';
import { ReplayGuard } from '../../../../control-plane/coordinator/agents/replay-guard.ts';

const MINUTE_MS = 60_000;
const proof = (hostId: number, proofId: string, expiresMs: number) => ({ hostId, proofId, expiresMs });

test('P19: a proof admits one connection until it expires', () => {
  const guard = new ReplayGuard();
  guard.use(proof(1, 'a', 2 * MINUTE_MS), MINUTE_MS);
  expect(() => guard.use(proof(1, 'a', 2 * MINUTE_MS), 2 * MINUTE_MS - 1)).toThrow('already used');
  guard.use(proof(2, 'a', 2 * MINUTE_MS), MINUTE_MS);
});

test('P19: nothing is stored for hosts that do not reconnect', () => {
  const guard = new ReplayGuard();
  for (let hostId = 1; hostId <= 100; hostId++) guard.use(proof(hostId, 'a', 3 * MINUTE_MS), MINUTE_MS);
  expect(guard.hosts).toBe(100);
  guard.use(proof(101, 'a', 5 * MINUTE_MS), 3 * MINUTE_MS);
  expect(guard.hosts).toBe(1);
});

test('P19: a host that connects too often must wait, and is then admitted again', () => {
  const guard = new ReplayGuard();
  for (let n = 0; n < 1_000; n++) guard.use(proof(1, `p${n}`, 2 * MINUTE_MS), MINUTE_MS);
  expect(() => guard.use(proof(1, 'more', 2 * MINUTE_MS), MINUTE_MS)).toThrow('connects too often');
  guard.use(proof(1, 'more', 4 * MINUTE_MS), 2 * MINUTE_MS);
});
