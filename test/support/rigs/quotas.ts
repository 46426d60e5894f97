/** A cluster of one large host, on which the quotas of users delay starts. */
import type { Quota } from '../../../control-plane/core/accounts/account.ts';
import { CoreRig, hostFacts, quota } from './core-rig.ts';

/** A rig with a large host, and with these caps for user 1. */
export function rigWith(caps: Partial<Quota>): CoreRig {
  const rig = new CoreRig();
  rig.cluster.setQuota(quota(1, caps));
  rig.join(hostFacts('large', { memoryBytes: 1e6, cores: 1_000 }));
  return rig;
}
