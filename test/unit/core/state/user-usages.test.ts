import { expect, test } from 'vitest';
import { application, needs, service } from '../../../support/fixtures/applications.ts';
import { CoreRig, exited, gone, hostFacts, named, running } from '../../../support/rigs/core-rig.ts';

const half = { resources: needs(2 ** 20, 0.5) };

test('C56, C173: what has ended counts nowhere: as placed, as elastic or by the weight of its texts', () => {
  const rig = new CoreRig();
  const host = rig.hello(hostFacts('one'));
  const side = { ...half, name: 'side', total_count: 2, essential_count: 0, command: 'x'.repeat(5_000) };
  const execution = rig.submitInTurn(application(service(half), service(side)));
  rig.see(named(execution, 'web0'), running);
  const { cluster } = rig;
  const counted = () => {
    const placed = [cluster.placedOf(1), cluster.elasticCount, cluster.elasticOf(1).size];
    const here = [host.reservedCores, host.reservedMemoryBytes, host.elasticCores, host.elasticMemoryBytes];
    return [cluster.usage(1).executions, ...placed, ...here, cluster.placedWeight];
  };
  const mib = 2 ** 20;
  expect(counted()).toEqual([1, 3, 2, 2, 1.5, 3 * mib, 1, 2 * mib, expect.any(Number)]);
  expect(cluster.placedWeight).toBeGreaterThan(3);
  rig.see(named(execution, 'web0'), exited(0));
  for (const one of execution.services) rig.see(one, gone);
  expect(execution.status).toBe('terminated');
  expect(counted()).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 0]);
});
