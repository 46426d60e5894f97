import { expect, test } from 'vitest';
import { ReplayGuard } from '../../../../control-plane/coordinator/agents/replay-guard.ts';

const MINUTE_MS = 60_000;
const proof = (hostId: number, proofId: string, expiresMs: number) => ({ hostId, proofId, expiresMs });

test('P19: nothing is stored for hosts that do not reconnect', () => {
  const guard = new ReplayGuard();
  for (let hostId = 1; hostId <= 100; hostId++) guard.use(proof(hostId, 'a', 3 * MINUTE_MS), MINUTE_MS);
  expect(guard.hosts).toBe(100);
  guard.use(proof(101, 'a', 5 * MINUTE_MS), 3 * MINUTE_MS);
  expect(guard.hosts).toBe(1);
});
