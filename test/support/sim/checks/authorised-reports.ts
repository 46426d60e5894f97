/** Check of reports: a control plane accepts those on starts that were given to the host (P12). */
import { keyOf } from '../../../../shared/protocol/assignment.ts';
import type { Report } from '../../../../shared/protocol/up.ts';
import type { Link } from '../world/network.ts';
import type { World } from '../world/time.ts';
import type { Ledger } from './ledger.ts';

/**
 * Demands that an acknowledged report names no start that was given to another host. `listed` has the keys of
 * the hello. A start that is reported as gone may have been given by a database that was restored.
 */
export function assertAuthorised(
  world: World,
  ledger: Ledger,
  { name, hostId }: Link,
  listed: ReadonlySet<string>,
  { observations }: Report,
): void {
  for (const one of observations) {
    const row = ledger.services.get(one.service);
    const isElsewhere = row && row.host_id !== hostId && row.status !== 'inactive';
    if (!isElsewhere || row.generation !== one.generation || one.state === 'gone') continue;
    if (!listed.has(keyOf(one)))
      world.violate(
        `${name}: ${one.state} of ${keyOf(one)} is acknowledged, which is on host ${row.host_id}`,
      );
  }
}
